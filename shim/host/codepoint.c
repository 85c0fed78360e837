/*
 * Characters of texts from outside. The tables are ranges of Unicode 16, chosen here: what
 * is not listed as visible is shown as an escape, so that a new invisible character is
 * seen too.
 *
 * Trusts nothing; allocates nothing but the buffer that it fills.
 */
#include "shim/host/codepoint.h"

#include <stdlib.h>

#include "shim/base/array.h"
#include "shim/base/utf8.h"

/* ---- classes ------------------------------------------------------------------ */

struct range {
	uint32_t from, to;
	int is;
};

static const struct range classes[] = {
    {0x0000, 0x0008, CODEPOINT_CONTROL},
    {0x000b, 0x000c, CODEPOINT_CONTROL},
    {0x000e, 0x001a, CODEPOINT_CONTROL},
    {0x001b, 0x001b, CODEPOINT_ESCAPE},
    {0x001c, 0x001f, CODEPOINT_CONTROL},
    {0x007f, 0x008f, CODEPOINT_CONTROL},
    {0x0090, 0x0090, CODEPOINT_ESCAPE}, /* DCS */
    {0x0091, 0x009a, CODEPOINT_CONTROL},
    {0x009b, 0x009b, CODEPOINT_ESCAPE}, /* CSI */
    {0x009c, 0x009c, CODEPOINT_CONTROL},
    {0x009d, 0x009f, CODEPOINT_ESCAPE}, /* OSC, PM, APC */
    {0x00a0, 0x00a0, CODEPOINT_SPACE},
    {0x00ad, 0x00ad, CODEPOINT_ZERO_WIDTH},
    {0x034f, 0x034f, CODEPOINT_ZERO_WIDTH},
    {0x061c, 0x061c, CODEPOINT_BIDI},
    {0x115f, 0x1160, CODEPOINT_ZERO_WIDTH}, /* Hangul fillers */
    {0x1680, 0x1680, CODEPOINT_SPACE},
    {0x17b4, 0x17b5, CODEPOINT_ZERO_WIDTH},
    {0x180b, 0x180d, CODEPOINT_SELECTOR}, /* Mongolian */
    {0x180e, 0x180e, CODEPOINT_ZERO_WIDTH},
    {0x180f, 0x180f, CODEPOINT_SELECTOR},
    {0x2000, 0x200a, CODEPOINT_SPACE},
    {0x200b, 0x200d, CODEPOINT_ZERO_WIDTH},
    {0x200e, 0x200f, CODEPOINT_BIDI},
    {0x2028, 0x2029, CODEPOINT_CONTROL}, /* line and paragraph separator */
    {0x202a, 0x202e, CODEPOINT_BIDI},
    {0x202f, 0x202f, CODEPOINT_SPACE},
    {0x205f, 0x205f, CODEPOINT_SPACE},
    {0x2060, 0x2065, CODEPOINT_ZERO_WIDTH},
    {0x2066, 0x2069, CODEPOINT_BIDI},
    {0x206a, 0x206f, CODEPOINT_ZERO_WIDTH},
    {0x2800, 0x2800, CODEPOINT_SPACE},
    {0x3000, 0x3000, CODEPOINT_SPACE},
    {0x3164, 0x3164, CODEPOINT_ZERO_WIDTH},
    {0xe000, 0xf8ff, CODEPOINT_PRIVATE},
    {0xfe00, 0xfe0f, CODEPOINT_SELECTOR},
    {0xfeff, 0xfeff, CODEPOINT_ZERO_WIDTH},
    {0xffa0, 0xffa0, CODEPOINT_ZERO_WIDTH},
    {0xfff0, 0xfffb, CODEPOINT_ZERO_WIDTH},
    {0xfffe, 0xffff, CODEPOINT_PRIVATE}, /* not characters */
    {0x1bca0, 0x1bca3, CODEPOINT_ZERO_WIDTH},
    {0x1d173, 0x1d17a, CODEPOINT_ZERO_WIDTH},
    {0xe0000, 0xe007f, CODEPOINT_TAG},
    {0xe0100, 0xe01ef, CODEPOINT_SELECTOR},
    {0xf0000, 0x10ffff, CODEPOINT_PRIVATE},
};

/* is: of the range that has it; otherwise: of none. */
static int
range_find(const struct range *table, size_t n, uint32_t c, int otherwise)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c > table[mid].to)
			low = mid + 1;
		else if (c < table[mid].from)
			high = mid;
		else
			return table[mid].is;
	}
	return otherwise;
}

enum codepoint_class
codepoint_class(uint32_t c)
{
	return (enum codepoint_class)range_find(
	    classes, ARRAY_LEN(classes), c, CODEPOINT_PLAIN);
}

/* ---- look-alikes ---------------------------------------------------------------- */

/* Alphabets that are a copy of the Latin one: the first letter and how many. */
static const struct copied {
	uint32_t from, n;
	const char *letters;
} copies[] = {
    {0x249c, 26, "abcdefghijklmnopqrstuvwxyz"},
    {0x24b6, 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {0x24d0, 26, "abcdefghijklmnopqrstuvwxyz"},
    {0xff01, 94,
	"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
	"abcdefghijklmnopqrstuvwxyz{|}~"},
    {0x1f130, 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {0x1f150, 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {0x1f170, 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {0x1f1e6, 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {0xe0020, 95,
	" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
	"abcdefghijklmnopqrstuvwxyz{|}~"},
};

/* Sorted. */
static const struct alike {
	uint32_t c;
	const char *ascii;
} alikes[] = {
    {0x00a0, " "},
    {0x0131, "i"},
    {0x017f, "s"},
    {0x01c0, "l"},
    {0x0251, "a"},
    {0x0261, "g"},
    {0x0269, "i"},
    {0x026a, "i"},
    {0x028b, "u"},
    {0x02bc, "'"},
    {0x0391, "A"},
    {0x0392, "B"},
    {0x0395, "E"},
    {0x0396, "Z"},
    {0x0397, "H"},
    {0x0399, "I"},
    {0x039a, "K"},
    {0x039c, "M"},
    {0x039d, "N"},
    {0x039f, "O"},
    {0x03a1, "P"},
    {0x03a4, "T"},
    {0x03a5, "Y"},
    {0x03a7, "X"},
    {0x03b1, "a"},
    {0x03b3, "y"},
    {0x03b9, "i"},
    {0x03ba, "k"},
    {0x03bd, "v"},
    {0x03bf, "o"},
    {0x03c1, "p"},
    {0x03c3, "o"},
    {0x03c5, "u"},
    {0x03c7, "x"},
    {0x03f2, "c"},
    {0x03f3, "j"},
    {0x0405, "S"},
    {0x0406, "I"},
    {0x0408, "J"},
    {0x0410, "A"},
    {0x0412, "B"},
    {0x0415, "E"},
    {0x041a, "K"},
    {0x041c, "M"},
    {0x041d, "H"},
    {0x041e, "O"},
    {0x0420, "P"},
    {0x0421, "C"},
    {0x0422, "T"},
    {0x0423, "Y"},
    {0x0425, "X"},
    {0x0430, "a"},
    {0x0433, "r"},
    {0x0435, "e"},
    {0x043a, "k"},
    {0x043c, "m"},
    {0x043d, "h"},
    {0x043e, "o"},
    {0x043f, "n"},
    {0x0440, "p"},
    {0x0441, "c"},
    {0x0442, "t"},
    {0x0443, "y"},
    {0x0445, "x"},
    {0x0455, "s"},
    {0x0456, "i"},
    {0x0458, "j"},
    {0x0475, "v"},
    {0x04ae, "Y"},
    {0x04bb, "h"},
    {0x04c0, "I"},
    {0x04cf, "l"},
    {0x0501, "d"},
    {0x051a, "Q"},
    {0x051b, "q"},
    {0x051c, "W"},
    {0x051d, "w"},
    {0x054f, "S"},
    {0x0555, "O"},
    {0x0561, "w"},
    {0x0563, "q"},
    {0x0566, "q"},
    {0x0570, "h"},
    {0x0578, "n"},
    {0x057a, "u"},
    {0x057d, "u"},
    {0x0581, "g"},
    {0x0585, "o"},
    {0x13a0, "D"},
    {0x13aa, "A"},
    {0x13ac, "E"},
    {0x13b3, "W"},
    {0x13bb, "H"},
    {0x1d0f, "o"},
    {0x1d1c, "u"},
    {0x1d20, "v"},
    {0x1d21, "w"},
    {0x1d22, "z"},
    {0x2010, "-"},
    {0x2011, "-"},
    {0x2012, "-"},
    {0x2013, "-"},
    {0x2018, "'"},
    {0x2019, "'"},
    {0x2024, "."},
    {0x2039, "<"},
    {0x203a, ">"},
    {0x2044, "/"},
    {0x2102, "C"},
    {0x210a, "g"},
    {0x210b, "H"},
    {0x210c, "H"},
    {0x210d, "H"},
    {0x210e, "h"},
    {0x2110, "I"},
    {0x2111, "I"},
    {0x2112, "L"},
    {0x2113, "l"},
    {0x2115, "N"},
    {0x2119, "P"},
    {0x211a, "Q"},
    {0x211b, "R"},
    {0x211c, "R"},
    {0x211d, "R"},
    {0x2124, "Z"},
    {0x212a, "K"},
    {0x212c, "B"},
    {0x212d, "C"},
    {0x212f, "e"},
    {0x2130, "E"},
    {0x2131, "F"},
    {0x2133, "M"},
    {0x2134, "o"},
    {0x2139, "i"},
    {0x2160, "I"},
    {0x2164, "V"},
    {0x2169, "X"},
    {0x216c, "L"},
    {0x216d, "C"},
    {0x216e, "D"},
    {0x216f, "M"},
    {0x2170, "i"},
    {0x2174, "v"},
    {0x2179, "x"},
    {0x217c, "l"},
    {0x217d, "c"},
    {0x217e, "d"},
    {0x217f, "m"},
    {0x2212, "-"},
    {0x2215, "/"},
    {0x2223, "|"},
    {0x2329, "<"},
    {0x232a, ">"},
    {0x27e8, "<"},
    {0x27e9, ">"},
    {0x3008, "<"},
    {0x3009, ">"},
    {0xa731, "s"},
    {0xab75, "i"},
    {0xfb00, "ff"},
    {0xfb01, "fi"},
    {0xfb02, "fl"},
    {0xfb03, "ffi"},
    {0xfb04, "ffl"},
    {0xfb06, "st"},
    {0xfe64, "<"},
    {0xfe65, ">"},
    {0xfe68, "\\"},
};

/* The mathematical alphabets: 13 of letters, and 5 of digits. */
static char
mathematical(uint32_t c)
{
	uint32_t letter = (c - 0x1d400) % 52;

	if (c >= 0x1d400 && c <= 0x1d6a3)
		return (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26);
	if (c >= 0x1d7ce && c <= 0x1d7ff)
		return (char)('0' + (c - 0x1d7ce) % 10);
	return '\0';
}

static bool
is_invisible(uint32_t c)
{
	static const bool invisible[] = {
	    [CODEPOINT_BIDI] = true,
	    [CODEPOINT_ZERO_WIDTH] = true,
	    [CODEPOINT_TAG] = true,
	    [CODEPOINT_SELECTOR] = true,
	    [CODEPOINT_SPACE] = false,
	};

	return invisible[codepoint_class(c)];
}

static int
by_codepoint(const void *key, const void *row)
{
	uint32_t c = *(const uint32_t *)key, has = ((const struct alike *)row)->c;

	return (c > has) - (c < has);
}

const char *
codepoint_ascii(uint32_t c, char memory[2])
{
	const struct alike *like;

	memory[0] = (char)(c < 0x80 ? (int)c : mathematical(c));
	memory[1] = '\0';
	if (c < 0x80 || memory[0] != '\0')
		return memory;
	/* tags repeat ASCII for a model, and are invisible to a person */
	for (size_t i = 0; i < ARRAY_LEN(copies); i++)
		if (c >= copies[i].from && c - copies[i].from < copies[i].n) {
			memory[0] = copies[i].letters[c - copies[i].from];
			return memory;
		}
	like = bsearch(&c, alikes, ARRAY_LEN(alikes), sizeof(alikes[0]), by_codepoint);
	if (like != NULL)
		return like->ascii;
	if (is_invisible(c))
		return "";
	return codepoint_class(c) == CODEPOINT_SPACE ? " " : NULL;
}

/* ---- display --------------------------------------------------------------------- */

/* What is shown as it is; is: its columns. Scripts that are written from right to left,
 * combining marks and blanks are not here: they change how their line looks. */
static const struct range visible[] = {
    {0x00a1, 0x00ac, 1},
    {0x00ae, 0x02ff, 1},
    {0x0370, 0x0482, 1},
    {0x048a, 0x058f, 1},
    {0x1d00, 0x1dbf, 1},
    {0x1e00, 0x1fff, 1},
    {0x2010, 0x2027, 1},
    {0x2030, 0x205e, 1},
    {0x2070, 0x20cf, 1},
    {0x2100, 0x27ff, 1},
    {0x2801, 0x2bff, 1},
    {0x2e80, 0x2fff, 2},
    {0x3001, 0x3029, 2},
    {0x3030, 0x303f, 2},
    {0x3041, 0x3096, 2},
    {0x309b, 0x3163, 2},
    {0x3165, 0x9fff, 2},
    {0xac00, 0xd7a3, 2},
    {0xf900, 0xfaff, 2},
    {0xff01, 0xff60, 2},
    {0x1f300, 0x1f3fa, 2},
    {0x1f400, 0x1faff, 2},
    {0x20000, 0x2ffff, 2},
};

int
codepoint_width(uint32_t c)
{
	return range_find(visible, ARRAY_LEN(visible), c, 1);
}

static bool
is_shown(uint32_t c, unsigned int how)
{
	if (c == '\n')
		return (how & SHOW_LINES) != 0;
	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	return (how & SHOW_UTF8) != 0 &&
	       range_find(visible, ARRAY_LEN(visible), c, 0) != 0;
}

int
codepoint_show(struct buf *out, const char *text, size_t len, unsigned int how)
{
	const char *end = text + len;
	int r = 0;

	while (r == 0 && text < end) {
		const char *from = text;
		uint32_t c = utf8_take(&text, end);

		if (c == UTF8_INVALID && text - from < 3)
			while (r == 0 && from < text)
				r = buf_printf(
				    out, "\\x%02x", (unsigned int)(uint8_t)*from++);
		else if (is_shown(c, how))
			r = buf_put(out, from, (size_t)(text - from));
		else
			r = buf_printf(out, "\\u{%x}", c);
	}
	return r;
}
