/*
 * The variables of an entry. A secret in clear text goes to the vault. What the client fills
 * in stays in the configuration, and the policy takes the variable from the environment, as
 * the server did. So does a text that only another client would fill in: it is passed on.
 */
#include <string.h>
#include <strings.h>

#include "policy/tokens/secret_shaped.h"
#include "policy/tokens/value_reference.h"
#include "policy/tokens/weak_value.h"
#include "shim/base/array.h"
#include "supervisor/import/client_syntax.h"
#include "supervisor/import/entry_parts.h"

static bool
is_variable(const char *name)
{
	return name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9') &&
	       name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
				 "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

static bool
is_weak(const char *value)
{
	return weak_value((const uint8_t *)value, strlen(value)) != NULL;
}

/* A value that is in the file. */
static void
take_plain(struct entry *e, struct entry_variable *v)
{
	/* $X, which this client does not fill in, is the value itself */
	v->secret = secret_shaped_value(v->name, v->value) ||
		    (v->value[0] == '$' && secret_shaped_name(v->name));
	v->clear = v->secret && v->value[0] != '\0';
	e->clear_n += v->clear;
	if (v->clear && is_weak(v->value))
		entry_other(e,
		    "the value of a secret is too weak to be redacted: get a stronger "
		    "one, or "
		    "write a policy with `weak allowed`",
		    v->name);
}

/* A value that is not in the file, but a text in its place. */
static void
take_reference(const struct client_file *f, struct entry *e, struct entry_variable *v)
{
	enum value_reference is = value_reference(v->value, NULL, NULL);
	const char *text = v->value;

	v->value = NULL;
	v->secret = secret_shaped_name(v->name);
	if (is == VALUE_MANAGER) {
		v->secret = true;
		v->manager = text;
	} else if (is == VALUE_PLACEHOLDER) {
		v->note = "has a placeholder";
		if (v->secret && is_weak(text))
			entry_other(
			    e, "a secret has a placeholder: write its value", v->name);
	} else if (is != VALUE_PLAIN && secret_shaped_value(v->name, text)) {
		entry_other(e,
		    "the default of a reference is a secret: give it in the variable "
		    "itself",
		    v->name);
	} else if (!client_fills_in(f->client, text)) {
		v->note = "is passed on as it is written";
		if (v->secret && is_weak(text))
			entry_other(e, "its client does not fill in a secret", v->name);
	}
}

static void
add(const struct client_file *f, struct entry *e, const char *name, const char *value,
    size_t node)
{
	struct entry_variable *v = &e->variable[e->variable_n];

	if (e->variable_n == ENTRY_VARIABLES_MAX) {
		entry_other(e, "it has too many variables", NULL);
		return;
	}
	if (!is_variable(name)) {
		entry_other(e, "a variable has a name that kennel does not accept", NULL);
		return;
	}
	*v = (struct entry_variable){.name = name, .value = value, .node = node};
	if (value == NULL)
		v->secret = secret_shaped_name(name);
	else if (client_has_reference(f->client, value))
		take_reference(f, e, v);
	else
		take_plain(e, v);
	e->variable_n++;
}

/* The members of the object of variables. */
static void
take_object(const struct config_tree *t, const struct client_file *f, struct entry *e)
{
	if (t->node[e->env].type != NODE_OBJECT)
		return;
	for (size_t i = t->node[e->env].first; i != TREE_NONE; i = t->node[i].next)
		if (t->node[i].text != NULL && t->node[i].key != NULL)
			add(f, e, t->node[i].key, t->node[i].text, i);
		else
			entry_other(e, "a variable is not a plain text", NULL);
}

/* A list of names of variables that the client takes from elsewhere. */
static void
take_names(const struct config_tree *t, const struct client_file *f, size_t list,
    struct entry *e)
{
	for (size_t i = t->node[list].first; i != TREE_NONE; i = t->node[i].next)
		if (t->node[i].type == NODE_STRING && t->node[i].text != NULL)
			add(f, e, t->node[i].text, NULL, TREE_NONE);
}

static bool
is_twice(const struct entry *e)
{
	for (size_t i = 0; i < e->variable_n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(e->variable[i].name, e->variable[k].name) == 0)
				return true;
	return false;
}

/* Have both one path in the vault, as server_secret_path makes it? */
static bool
is_one_path(const char *a, const char *b)
{
	if (a[0] == '_' && (b[0] == 'v' || b[0] == 'V'))
		b++;
	else if (b[0] == '_' && (a[0] == 'v' || a[0] == 'V'))
		a++;
	return strcasecmp(a, b) == 0;
}

/* The second of two secrets that the vault would have at one path, or NULL. */
static const char *
same_path(const struct entry *e)
{
	for (size_t i = 0; i < e->variable_n; i++)
		for (size_t k = 0; k < i; k++)
			if (e->variable[i].clear && e->variable[k].clear &&
			    is_one_path(e->variable[i].name, e->variable[k].name))
				return e->variable[i].name;
	return NULL;
}

void
entry_take_variables(const struct config_tree *t, const struct client_file *f,
    size_t object, struct entry *e)
{
	static const char *const goose[] = {"envs"}; /* it ignores `env` */
	static const char *const where[] = {"env", "environment"};
	static const char *const names[] = {"env_vars", "env_keys"};
	bool yaml = f->dialect == DIALECT_YAML;
	size_t found;

	for (size_t i = 0; i < (yaml ? ARRAY_LEN(goose) : ARRAY_LEN(where)); i++) {
		found = entry_member(t, object, e, yaml ? goose[i] : where[i]);
		if (found == TREE_NONE)
			continue;
		if (e->env != TREE_NONE)
			entry_other(e, "its variables are in two members", NULL);
		e->env = found;
		take_object(t, f, e);
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		found = entry_member(t, object, e, names[i]);
		if (found != TREE_NONE)
			take_names(t, f, found, e);
	}
	if (is_twice(e))
		entry_other(e, "a variable is defined twice", NULL);
	else if (same_path(e) != NULL)
		entry_other(e,
		    "two secrets would have one name in the vault: rename one, or write "
		    "a policy for them",
		    same_path(e));
}
