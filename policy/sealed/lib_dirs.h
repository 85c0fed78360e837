/*
 * The default library directories of glibc's loader, in its order, and the
 * flags of this machine's libraries in its cache (ld.so(8); glibc's
 * sysdeps/generic/dl-cache.h).
 */
#ifndef KENNEL_POLICY_SEALED_LIB_DIRS_H
#define KENNEL_POLICY_SEALED_LIB_DIRS_H

#if defined(__x86_64__)
#define LIB_TRIPLET     "x86_64-linux-gnu"
#define LIB_CACHE_FLAGS 0x0303 /* libc6, x86-64 */
#else
#define LIB_TRIPLET     "aarch64-linux-gnu"
#define LIB_CACHE_FLAGS 0x0a03 /* libc6, AArch64 */
#endif

#define LIB_DIRS \
	"/lib/" LIB_TRIPLET, "/usr/lib/" LIB_TRIPLET, "/lib64", "/usr/lib64", "/lib", \
	    "/usr/lib"

/*
 * The directories in which a path may be that comes from the contents of a file, such as the
 * loader that a program names (policy/compile/content_path.c).  `kennel policy show` prints
 * this table: programs, libraries, what distributions add to runtimes, links that choose
 * between packages; and two files.
 */
#define SYSTEM_DIRS \
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/sbin", \
	    "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", \
	    "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", \
	    "/usr/local/libexec", "/opt", "/usr/share/nodejs", "/etc/alternatives", \
	    "/etc/ssl/openssl.cnf", "/etc/ld.so.cache"

#endif
