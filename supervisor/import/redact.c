#include "supervisor/import/redact.h"

#include <string.h>
#include <strings.h>

#include "shim/base/array.h"
#include "policy/tokens/secret_shaped.h"

/* The value of an argument before it: --token VALUE. */
static bool
is_argument(const struct config_tree *t, size_t i)
{
	const char *words[2];

	if (i == 0 || t->node[i].key != NULL || t->node[i - 1].text == NULL ||
	    t->node[i - 1].key != NULL)
		return false;
	words[0] = t->node[i - 1].text;
	words[1] = t->node[i].text;
	return secret_shaped_args(words, 2) == 1;
}

static bool
is_secret(const struct config_tree *t, size_t i)
{
	const struct config_node *n = &t->node[i];

	if (n->type != NODE_STRING && n->type != NODE_OTHER)
		return false;
	if (n->text == NULL)
		return n->type == NODE_STRING;
	if (n->key == NULL ? secret_shaped(n->text)
			   : secret_shaped_value(n->key, n->text))
		return true;
	return is_argument(t, i);
}

struct hiding {
	const struct config_tree *t;
	struct buf *out;
	size_t from, to;   /* what is left to print */
	size_t comment;    /* the next one */
	size_t secret_end; /* of a list of secrets */
	int r;
};

/* Prints up to a place that is hidden, and a word for it. */
static void
hide(struct hiding *h, size_t at, size_t end, const char *word)
{
	if (h->r < 0 || end <= h->from || at >= h->to || at >= end)
		return;
	if (at > h->from)
		h->r = buf_put(h->out, h->t->bytes + h->from, at - h->from);
	if (h->r == 0)
		h->r = buf_puts(h->out, word);
	h->from = end;
}

static void
hide_comments(struct hiding *h, size_t before)
{
	const struct config_comment *c = h->t->comment;

	for (; h->comment < h->t->comment_n && c[h->comment].from < before; h->comment++)
		hide(h, c[h->comment].from, c[h->comment].to, "[comment]");
}

static void
hide_node(struct hiding *h, size_t i)
{
	const struct config_node *n = &h->t->node[i];
	bool listed = n->at < h->secret_end;

	if (n->key != NULL && secret_shaped(n->key))
		hide(h, n->from, n->at, "[secret] ");
	hide_comments(h, n->at); /* between the key and the value */
	if (n->type == NODE_ARRAY && n->key != NULL && secret_shaped_name(n->key))
		h->secret_end = n->end;
	if (is_secret(h->t, i) || (listed && n->text != NULL))
		hide(h, n->at, n->end, "[secret]");
}

int
redact(const struct config_tree *t, size_t from, size_t to, struct buf *out)
{
	struct hiding h = {.t = t, .out = out, .from = from, .to = to};

	for (size_t i = 0; h.r == 0 && i < t->n; i++) {
		hide_comments(&h, t->node[i].from);
		hide_node(&h, i);
	}
	hide_comments(&h, t->len);
	if (h.r == 0 && h.from < to)
		h.r = buf_put(out, t->bytes + h.from, to - h.from);
	return h.r;
}
