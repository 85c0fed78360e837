/*
 * Sentences that instruct the model to hide something, to do something with other tools,
 * or to collect what the tool does not need.
 *
 * A phrase is words, separated by blanks. a|b: one of them; a+: a word that begins so;
 * *3: at most three words, of the same sentence. Apostrophes do not count.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/lint/private.h"

#define NOT "not|never|dont|doesnt|wont|mustnt|shouldnt|cannot|avoid|without|refrain"
#define TELL \
	"tell|telling|mention+|inform|informing|notify|notifying|reveal+|disclos+|" \
	"alert|alerting|warn|warning"
#define SHOW    "show|showing|display|displaying|report|reporting|explain+"
#define USER    "user|users|human|humans|person|anyone|anybody"
#define USE     "use|using|call|calling|invoke|invoking|run|running|execute|executing"
#define TOOL    "tool|tools|function|functions|server|servers"
#define ALL     "any|another|all|every"
#define OTHER   "any|other|another|all|every"
#define EARLIER "previous|prior|above|earlier|preceding|other|existing|system|safety"
#define ORDER   "instruction|instructions|prompt|prompts|rules|guidelines|directives"
#define SECRET  "secret|hidden|confidential|invisible"
#define YOU     "you|agent|assistant|model|llm"
#define MUST    "must|shall|should|need|needs|have|has|required"
#define COMMAND \
	"command|commands|script|scripts|shell|bash|sh|sudo|curl|wget|rm|chmod|" \
	"powershell|" \
	"python|python3|eval|nc"
#define CONTACT \
	"access|accessing|visit|visiting|contact|contacting|request|requesting|fetch|" \
	"fetching|ping|pinging|notify|notifying|send|sending|post|posting|report|" \
	"reporting|" \
	"upload|uploading|call|calling"
#define STARTED \
	"bashrc|zshrc|bash_profile|bash_login|zprofile|zshenv|crontab|authorized_keys|" \
	"launchagents|sudoers|vimrc|gitconfig"
#define PASS "pass|send|include|provide|add|append|copy|put|insert|attach|collect|forward"

static const struct phrase {
	enum lint_rule rule;
	const char *words;
	/* what the sentence would do */
	const char *reason;
} phrases[] = {
    {LINT_HIDE, NOT " *2 " TELL " *6 " USER,
	"an action that the user is not to learn of"},
    {LINT_HIDE, NOT " *2 " SHOW " *3 to *1 " USER,
	"a result that the user is not to see"},
    {LINT_HIDE, "without telling|mentioning|informing|notifying|alerting|disclosing",
	"an action without a word about it"},
    {LINT_HIDE, "without *2 " USER " *1 knowledge|consent|noticing|knowing|awareness",
	"an action that the user has not agreed to"},
    {LINT_HIDE, "without asking *2 " USER, "an action that the user has not agreed to"},
    {LINT_HIDE,
	USER " must|should|shall|may|can|need|does|do not|never *1 "
	     "know|see|notice|learn|find|be|aware",
	"a user who is not to know"},
    {LINT_HIDE, "keep|keeping|remain|remains *4 " SECRET " *1 from", "a secret"},
    {LINT_HIDE, "keep|keeping *3 " SECRET, "a secret"},
    {LINT_HIDE, "hide|hiding|conceal|concealing *5 from *2 " USER, "a secret"},
    {LINT_HIDE,
	"silently|secretly|covertly|quietly *1 send|read|call|copy|forward|include|"
	"append|add|execute|run|upload|pass|use|do|perform|collect|store|record|transmit|"
	"invoke|fetch|access|attach|insert|bcc",
	"an action in the background"},
    {LINT_HIDE, "do|act|proceed|work *3 silently|secretly|covertly",
	"an action in the background"},
    {LINT_OVERRIDE,
	"ignore|ignoring|disregard|forget|override|bypass *3 " EARLIER " *2 " ORDER,
	"other instructions no longer hold"},
    {LINT_OVERRIDE,
	"ignore|disregard|forget everything|anything *2 before|above|previously",
	"other instructions no longer hold"},
    {LINT_OVERRIDE, "before|after|when|whenever " USE " " ALL " *1 " TOOL,
	"this text concerns other tools"},
    {LINT_OVERRIDE, "before|after|when|whenever " USE " other " TOOL,
	"this text concerns other tools"},
    {LINT_OVERRIDE, "prior to " USE " " ALL " *1 " TOOL,
	"this text concerns other tools"},
    {LINT_OVERRIDE,
	"before|after|when|whenever " OTHER " *1 " TOOL " *1 is|are|call|calls",
	"this text concerns other tools"},
    {LINT_OVERRIDE, "instead of *1 " OTHER " *2 " TOOL, "it replaces other tools"},
    {LINT_OVERRIDE, NOT " *1 " USE " " OTHER " *2 " TOOL, "it forbids other tools"},
    {LINT_OVERRIDE, "takes|take|has|have precedence|priority over *4 " TOOL "|" ORDER,
	"a claim to be obeyed first"},
    {LINT_OVERRIDE, "supersedes|overrides|replaces *3 " EARLIER "|all *2 " TOOL "|" ORDER,
	"a claim to be obeyed first"},
    {LINT_OVERRIDE, "new|updated|real|actual system instruction|instructions|prompt",
	"a text in the system's name"},
    {LINT_DIRECT,
	YOU
	" " MUST " *1 first|also|additionally|immediately *1 call|use|invoke|run|execute|"
	"access|visit|contact|send|post|upload|update|modify|edit|append|write|verify|"
	"check|report|record|notify|download|install|change|replace|perform|read|open|"
	"fetch|retrieve|load|log|ensure",
	"one more action, before or beside the call"},
    {LINT_DIRECT,
	YOU " " MUST " *6 execute|executing|run|running|perform|performing *4 " COMMAND,
	"a command to be run"},
    {LINT_DIRECT, MUST "|always|also *3 " CONTACT " *6 http|https|ftp",
	"an address to be contacted"},
    {LINT_DIRECT,
	"add|adding|append|appending|write|writing|update|updating|modify|modifying|edit|"
	"editing|insert|inserting|put *6 " STARTED,
	"a file that starts programs is to be changed"},
    {LINT_DIRECT,
	"when|whenever " USE " *6 change|replace|substitute|swap|alter|redirect *4 "
	"to|with|by",
	"an argument is to be replaced"},
    {LINT_DIRECT, "prefer|choose|favor|favour|select me *3 always|over|instead|when|for",
	"a claim to be chosen"},
    {LINT_DIRECT, "prefer me", "a claim to be chosen"},
    {LINT_DIRECT, "call|invoke me *3 when|whenever|before|if|first|instead",
	"a claim to be chosen"},
    {LINT_LEAK, PASS " *6 system|developer prompt|message|instructions",
	"the agent's own instructions"},
    {LINT_LEAK, PASS " *6 conversation|chat|message history|transcript|log",
	"what the user has written"},
    {LINT_LEAK,
	PASS " *3 entire|whole|full|complete *1 conversation|chat|context|history",
	"what the user has written"},
    {LINT_LEAK, "read|open|cat|load|get|access|" PASS " *4 private|ssh key|keys",
	"the user's keys"},
    {LINT_LEAK,
	"read|open|cat|load|access|" PASS " *4 contents|content of *2 "
	"credentials|passwords|secrets|keys",
	"the user's credentials"},
    {LINT_LEAK, PASS " *3 environment variables", "what the environment holds"},
    {LINT_LEAK, PASS " *3 " USER " *1 credentials|password|passwords|secrets",
	"the user's credentials"},
};

struct words {
	const char *at, *end; /* of the folded text that is left */
};

/* ---- the next word -------------------------------------------------------------- */

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
	       (unsigned char)c == 0x80;
}

/* True if a sentence or an item of a list ends here. */
static bool
is_end(const char *p, const char *end)
{
	if (strchr(".!?", *p) != NULL)
		return p + 1 == end || strchr(" \t\r\n\"')*", p[1]) != NULL;
	if (*p != '\n')
		return false;
	for (p++; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	return p == end || strchr("\n-*#0123456789", *p) != NULL;
}

/* The next word; false: the sentence ends before it, or the text. crossed, if not NULL:
 * go on after the end of a sentence. */
static bool
next_word(struct words *w, bool cross, const char **ret, size_t *ret_len)
{
	const char *p = w->at;

	while (p < w->end && !is_letter(*p)) {
		if (!cross && *p != '\0' && is_end(p, w->end))
			return false;
		p++;
	}
	if (p == w->end)
		return false;
	*ret = p;
	while (p < w->end && (is_letter(*p) || *p == '\''))
		p++;
	*ret_len = (size_t)(p - *ret);
	w->at = p;
	return true;
}

/* The word equals [name, name + n), apostrophes in it aside; or begins so, if n ends
 * in +. */
static bool
is_word(const char *word, size_t len, const char *name, size_t n)
{
	bool begins = name[n - 1] == '+';
	size_t i = 0, k = 0;

	n -= begins ? 1 : 0;
	for (; i < len && k < n; i++) {
		if (word[i] == '\'')
			continue;
		if (word[i] != name[k])
			return false;
		k++;
	}
	while (i < len && word[i] == '\'')
		i++;
	return k == n && (begins || i == len);
}

static bool
is_one_of(const char *word, size_t len, const char *names, size_t names_len)
{
	const char *end = names + names_len;

	while (names < end) {
		const char *bar = memchr(names, '|', (size_t)(end - names));
		size_t n = (size_t)((bar != NULL ? bar : end) - names);

		if (is_word(word, len, names, n))
			return true;
		names += n + 1;
	}
	return false;
}

/* ---- phrases --------------------------------------------------------------------- */

/* The words that follow fit the rest of the phrase: *ret_end is after the last. A gap is
 * at most 6 and each phrase has at most three, which bounds the search. */
static bool
/* NOLINTNEXTLINE(misc-no-recursion): once for each gap of a phrase, at most three */
fits(const char *phrase, struct words w, const char **ret_end)
{
	size_t n = strcspn(phrase, " "), skip = 0, len;
	const char *word;

	if (phrase[0] == '*') {
		skip = (size_t)(phrase[1] - '0');
		phrase += n + 1;
		n = strcspn(phrase, " ");
	}
	for (size_t i = 0; i <= skip; i++) {
		if (!next_word(&w, false, &word, &len))
			return false;
		if (!is_one_of(word, len, phrase, n))
			continue;
		*ret_end = w.at;
		if (phrase[n] == '\0' || fits(phrase + n + 1, w, ret_end))
			return true;
	}
	return false;
}

void
lint_phrases(struct lint *l, const struct lint_text *t)
{
	struct words w = {t->folded, t->folded + t->folded_len};
	const char *word, *end;
	size_t len;

	while (next_word(&w, true, &word, &len))
		for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
			const char *p = phrases[i].words;
			size_t n = strcspn(p, " ");

			if (is_one_of(word, len, p, n) && fits(p + n + 1, w, &end))
				lint_hit(l, phrases[i].rule, t,
				    (size_t)(word - t->folded),
				    (size_t)(end - t->folded));
		}
}
