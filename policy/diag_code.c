/*
 * The code of a message: which part of the compiler says it.  kennel-policy(1)
 * lists the codes; they stay, while messages may be worded anew.
 */
#include "policy/lang/ast.h"

#include <string.h>

static const struct {
	const char *file, *code;
} codes[] = {
    {"lex.c", "text"},
    {"expand.c", "let"},
    {"parse.c", "syntax"},
    {"top.c", "syntax"},
    {"grant.c", "syntax"},
    {"when.c", "condition"},
    {"manifest.c", "manifest"},
    {"manifest_parse.c", "manifest"},
    {"secretmeta.c", "manifest"},
    {"catalog.c", "manifest"},
    {"include.c", "include"},
    {"pinfile.c", "pins"},
    {"check.c", "value"},
    {"check_mcp.c", "value"},
    {"check_net.c", "net"},
    {"check_value.c", "value"},
    {"unit.c", "value"},
    {"host.c", "net"},
    {"router.c", "sources"},
    {"router_parse.c", "sources"},
    {"sidecar.c", "sources"},
    {"routed.c", "sources"},
    {"conflict.c", "conflict"},
    {"lint.c", "lint"},
    {"never.c", "never"},
    {"never_reach.c", "never"},
    {"expect.c", "expect"},
    {"program.c", "program"},
    {"digest.c", "program"},
    {"libs.c", "program"},
    {"preset.c", "program"},
    {"elf.c", "program"},
    {"view.c", "view"},
    {"lower.c", "lowering"},
    {"tables.c", "lowering"},
    {"gates.c", "lowering"},
    {"compile.c", "seal"},
};

const char *
diag_code(const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t i;

	file = slash == NULL ? file : slash + 1;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(codes[i].file, file) == 0)
			return codes[i].code;
	return "other";
}
