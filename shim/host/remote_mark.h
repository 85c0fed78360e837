/*
 * How kennel knows an error of kennel-remote's own from one of the server at its URL: the
 * first member of the error is REMOTE_ERROR, byte for byte. kennel-remote spells the name
 * otherwise in all that it passes on from the server (leash/remote/answers.c).
 */
#ifndef KENNEL_SHIM_HOST_REMOTE_MARK_H
#define KENNEL_SHIM_HOST_REMOTE_MARK_H

#define REMOTE_MARK         "\"kennel-remote\""
#define REMOTE_MARK_SPELLED "\"kennel\\u002dremote\"" /* the same text, in JSON */
#define REMOTE_ERROR        "{\"data\":{" REMOTE_MARK ":true},\"code\":-32000,"

#endif
