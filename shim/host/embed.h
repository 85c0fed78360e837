/*
 * A file of the repository as bytes of the program.
 */
#ifndef KENNEL_SHIM_HOST_EMBED_H
#define KENNEL_SHIM_HOST_EMBED_H

/* Declares name and name_end and defines them: the file, whose path is from the top of the
 * repository, and a NUL at name_end. The Makefile says that the object depends on it. */
#define EMBED(name, path) \
	extern const char name[], name##_end[]; \
	__asm__(".pushsection .rodata\n" \
		".global " #name ", " #name "_end\n" #name ":\n" \
		".incbin \"" path "\"\n" #name "_end:\n" \
		".byte 0\n" \
		".popsection\n")

#endif
