/*
 * What a running leash sends, read field by field (docs/PROTOCOL.leash).
 *
 * Process: kennel.  Trusts the leash for what a message means; a malformed one ends
 * the session.
 */
#include <errno.h>

#include "shim/base/array.h"
#include "supervisor/launch/leash_client.h"

static int
read_exited(struct wire_in *in, struct child_news *n)
{
	n->status = (int)wire_get_u32(in);
	n->scrubbed = wire_get_u64(in);
	n->denied = wire_get_u64(in);
	n->lost = wire_get_str(in, CAUSE_MAX);
	n->last = wire_get_str(in, LEASH_LAST_MAX + 1);
	return 0;
}

static int
read_nothing(struct wire_in *in, struct child_news *n)
{
	return 0;
}

static int
read_words(struct wire_in *in, const char **words, uint32_t *ret_n)
{
	uint32_t n = wire_get_u32(in);

	if (n > CHILD_WORDS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++)
		words[i] = wire_get_str(in, LEASH_PACKET_MAX);
	*ret_n = n;
	return 0;
}

static int
read_ask(struct wire_in *in, struct child_news *n)
{
	static const char *argv[CHILD_WORDS_MAX], *env[CHILD_WORDS_MAX];
	struct child_ask *a = &n->ask;
	uint32_t cut;
	int r;

	n->number = wire_get_u32(in);
	a->timeout_ms = wire_get_u32(in);
	a->factor = wire_get_u32(in);
	a->digest = wire_get_bytes(in, LEASH_DIGEST_LEN);
	a->program = wire_get_str(in, LEASH_TEXT_MAX);
	a->cwd = wire_get_str(in, LEASH_PACKET_MAX);
	a->rule = wire_get_str(in, LEASH_TEXT_MAX);
	a->because = wire_get_str(in, LEASH_TEXT_MAX);
	cut = wire_get_u32(in);
	r = read_words(in, argv, &a->argc);
	if (r == 0)
		r = read_words(in, env, &a->envc);
	a->cut = cut != 0;
	a->argv = argv;
	a->env = env;
	return r == 0 && (a->digest.len != LEASH_DIGEST_LEN || cut > 1 ||
			     a->factor > FACTOR_KEY)
		   ? -EBADMSG
		   : r;
}

static int
read_ask_net(struct wire_in *in, struct child_news *n)
{
	struct child_ask_net *a = &n->ask_net;

	n->number = wire_get_u32(in);
	a->timeout_ms = wire_get_u32(in);
	a->factor = wire_get_u32(in);
	a->digest = wire_get_bytes(in, LEASH_DIGEST_LEN);
	a->name = wire_get_str(in, LEASH_TEXT_MAX);
	a->port = wire_get_u32(in);
	a->rule = wire_get_str(in, LEASH_TEXT_MAX);
	a->because = wire_get_str(in, LEASH_TEXT_MAX);
	return a->digest.len != LEASH_DIGEST_LEN || a->factor > FACTOR_KEY ||
		       a->port > 65535 || n->number < LEASH_NET_FIRST
		   ? -EBADMSG
		   : 0;
}

static int
read_use(struct wire_in *in, struct child_news *n)
{
	struct child_use *u = &n->use;

	n->number = wire_get_u32(in);
	u->timeout_ms = wire_get_u32(in);
	u->approve = wire_get_u32(in);
	u->digest = wire_get_bytes(in, LEASH_DIGEST_LEN);
	u->name = wire_get_str(in, LEASH_TEXT_MAX);
	u->source = wire_get_str(in, LEASH_TEXT_MAX);
	u->reference = wire_get_str(in, LEASH_PACKET_MAX);
	u->rule = wire_get_str(in, LEASH_TEXT_MAX);
	u->signers = wire_get_str(in, LEASH_PACKET_MAX);
	return u->digest.len != LEASH_DIGEST_LEN || u->approve > APPROVE_PER_CALL
		   ? -EBADMSG
		   : 0;
}

static int
read_withdrawn(struct wire_in *in, struct child_news *n)
{
	n->number = wire_get_u32(in);
	return 0;
}

static int
read_denied(struct wire_in *in, struct child_news *n)
{
	n->refusal.program = wire_get_str(in, LEASH_PACKET_MAX);
	n->refusal.rule = wire_get_str(in, LEASH_TEXT_MAX);
	n->refusal.because = wire_get_str(in, LEASH_PACKET_MAX);
	n->refusal.instead = wire_get_str(in, LEASH_PACKET_MAX);
	n->refusal.reason = wire_get_str(in, LEASH_TEXT_MAX);
	return 0;
}

static int
read_unreached(struct wire_in *in, struct child_news *n)
{
	struct child_unreached *u = &n->unreached;
	uint32_t kind;

	u->name = wire_get_str(in, LEASH_TEXT_MAX);
	u->port = wire_get_u32(in);
	u->rule = wire_get_str(in, LEASH_TEXT_MAX);
	u->because = wire_get_str(in, LEASH_PACKET_MAX);
	u->instead = wire_get_str(in, LEASH_PACKET_MAX);
	u->reason = wire_get_str(in, LEASH_TEXT_MAX);
	u->hint = wire_get_str(in, LEASH_TEXT_MAX);
	kind = wire_get_u32(in);
	u->address = kind == 1;
	u->failed = kind == 2;
	return u->port > 65535 || kind > 2 ? -EBADMSG : 0;
}

static int
read_judged(struct wire_in *in, struct child_news *n)
{
	static const char *argv[CHILD_WORDS_MAX], *chain[CHILD_WORDS_MAX];
	struct child_judged *j = &n->judged;
	int r;

	j->verdict = wire_get_str(in, LEASH_TEXT_MAX);
	j->program = wire_get_str(in, LEASH_TEXT_MAX);
	j->caller = wire_get_str(in, LEASH_TEXT_MAX);
	j->rule = wire_get_str(in, LEASH_TEXT_MAX);
	j->reason = wire_get_str(in, LEASH_TEXT_MAX);
	j->lost = wire_get_u32(in);
	r = read_words(in, chain, &j->chain_n);
	j->chain = chain;
	j->cut = wire_get_u32(in) != 0;
	j->argv = argv;
	return r < 0 ? r : read_words(in, argv, &j->argc);
}

static int
read_named(struct wire_in *in, struct child_news *n)
{
	n->named.use = wire_get_u32(in);
	n->named.path = wire_get_str(in, LEASH_TEXT_MAX);
	n->named.program = wire_get_str(in, LEASH_TEXT_MAX);
	return n->named.use == 0 || n->named.use >= NAMED_END ? -EBADMSG : 0;
}

static int
read_ends(struct wire_in *in, struct child_news *n)
{
	n->reason = wire_get_str(in, LEASH_TEXT_MAX);
	n->text = wire_get_str(in, LEASH_TEXT_MAX);
	return 0;
}

int
child_read(struct wire_in *in, uint32_t type, struct child_news *ret)
{
	static int (*const reads[])(struct wire_in *, struct child_news *) = {
	    [LEASH_EXITED] = read_exited,
	    [LEASH_NEEDS_RECORDER] = read_nothing,
	    [LEASH_ASK] = read_ask,
	    [LEASH_WITHDRAWN] = read_withdrawn,
	    [LEASH_DENIED] = read_denied,
	    [LEASH_JUDGED] = read_judged,
	    [LEASH_USE] = read_use,
	    [LEASH_ENDS] = read_ends,
	    [LEASH_UNREACHED] = read_unreached,
	    [LEASH_ASK_NET] = read_ask_net,
	    [LEASH_NAMED] = read_named,
	};
	struct child_news news = {.type = type};

	if (type >= ARRAY_LEN(reads) || reads[type] == NULL ||
	    reads[type](in, &news) < 0 || wire_end(in) < 0)
		return -EBADMSG;
	*ret = news;
	return 0;
}
