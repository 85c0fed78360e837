/* The default filters, as the build generated them. */
#include "default_filters.h"
#include "policy/sealed/load.h"
#include "shim/base/array.h"

const struct policy default_filters = {
    .strings = filter_strings,
    .strings_len = sizeof(filter_strings),
    .filter = filter_rows,
    .insn = filter_insns,
    .syscall = filter_syscalls,
    .compare = filter_compares,
    .row_n =
	{
	    [SEALED_STRINGS] = sizeof(filter_strings),
	    [SEALED_FILTERS] = ARRAY_LEN(filter_rows),
	    [SEALED_INSNS] = ARRAY_LEN(filter_insns),
	    [SEALED_SYSCALLS] = ARRAY_LEN(filter_syscalls),
	    [SEALED_COMPARES] = ARRAY_LEN(filter_compares),
	},
};
