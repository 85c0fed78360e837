/* The number of elements of an array; not of a pointer. */
#ifndef KENNEL_SHIM_BASE_ARRAY_H
#define KENNEL_SHIM_BASE_ARRAY_H

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
