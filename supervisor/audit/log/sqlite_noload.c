/*
 * Stubs for SQLite's extension loader. The programs that read and write the log are
 * static and cannot load extensions.
 */
#include <dlfcn.h>
#include <stddef.h>

void *
dlopen(const char *file, int mode)
{
	return NULL;
}

void *
dlsym(void *restrict handle, const char *restrict name)
{
	return NULL;
}

int
dlclose(void *handle)
{
	return 0;
}

char *
dlerror(void)
{
	static char why[] = "nothing is loaded here";

	return why;
}
