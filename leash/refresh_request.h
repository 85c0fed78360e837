/*
 * kennel-remote's requests to its leash, for the refresh token of its server
 * (docs/PROTOCOL.remote).  One SOCK_SEQPACKET; the leash made it, and kennel-remote
 * inherits its end as the descriptor that KENNEL_REFRESH_FD names.  Requests are even,
 * answers odd, one request at a time.
 *
 *	kennel-remote		leash				keeper
 *	GET ----------------->	recorded, on disk;
 *				RELEASE __oauth/NAME/refresh -->
 *	   <----------- VALUE				<----- VALUE
 *	PUT ----------------->	the same, STORE --------------->
 *	   <------------ DONE				<------ DONE
 *	   <--------- REFUSED	for either, with the keeper's reason
 *
 * The leash makes path, server and policy by itself: kennel-remote cannot name another
 * entry of the vault.
 */
#ifndef KENNEL_LEASH_REFRESH_REQUEST_H
#define KENNEL_LEASH_REFRESH_REQUEST_H

#define REFRESH_FD_VARIABLE "KENNEL_REFRESH_FD"
#define REFRESH_LOGIN       "KENNEL_LOGIN" /* set: a person logs in, on stdin and stdout */
#define REFRESH_VALUE_MAX   8192           /* bytes of a token */
#define REFRESH_PACKET_MAX  (REFRESH_VALUE_MAX + 64)
#define REFRESH_WHY_MAX     300 /* bytes of the text of REFUSED */

enum refresh_message {
	REFRESH_GET = 2,     /* nothing */
	REFRESH_VALUE = 3,   /* bytes */
	REFRESH_PUT = 4,     /* bytes */
	REFRESH_DONE = 5,    /* nothing */
	REFRESH_REFUSED = 7, /* str: what a person does about it */
};

#endif
