/*
 * Decodes HTML character references: "&#38;", "&#x26;" and "&amp;".  As in
 * browsers, the semicolon is optional after numbers and after the names of HTML 3.
 *
 * The table contains the names of HTML 4, and those that HTML 5 has for ASCII
 * characters.
 */
#include <string.h>

#include "leash/scrub/private.h"
#include "shim/base/array.h"
#include "shim/base/utf8.h"

#define ENTITY_MAX 12 /* bytes; "&#x0000010ffff;" does not occur in practice */

/* Sorted by strcmp(). */
static const struct name {
	char name[10];
	uint16_t code;
	bool bare; /* semicolon optional */
} names[] = {
    {"AElig", 0xc6, true},
    {"AMP", 0x26, true},
    {"Aacute", 0xc1, true},
    {"Acirc", 0xc2, true},
    {"Agrave", 0xc0, true},
    {"Alpha", 0x391},
    {"Aring", 0xc5, true},
    {"Atilde", 0xc3, true},
    {"Auml", 0xc4, true},
    {"Beta", 0x392},
    {"COPY", 0xa9, true},
    {"Ccedil", 0xc7, true},
    {"Chi", 0x3a7},
    {"Dagger", 0x2021},
    {"Delta", 0x394},
    {"ETH", 0xd0, true},
    {"Eacute", 0xc9, true},
    {"Ecirc", 0xca, true},
    {"Egrave", 0xc8, true},
    {"Epsilon", 0x395},
    {"Eta", 0x397},
    {"Euml", 0xcb, true},
    {"GT", 0x3e, true},
    {"Gamma", 0x393},
    {"Hat", 0x5e},
    {"Iacute", 0xcd, true},
    {"Icirc", 0xce, true},
    {"Igrave", 0xcc, true},
    {"Iota", 0x399},
    {"Iuml", 0xcf, true},
    {"Kappa", 0x39a},
    {"LT", 0x3c, true},
    {"Lambda", 0x39b},
    {"Mu", 0x39c},
    {"NewLine", 0xa},
    {"Ntilde", 0xd1, true},
    {"Nu", 0x39d},
    {"OElig", 0x152},
    {"Oacute", 0xd3, true},
    {"Ocirc", 0xd4, true},
    {"Ograve", 0xd2, true},
    {"Omega", 0x3a9},
    {"Omicron", 0x39f},
    {"Oslash", 0xd8, true},
    {"Otilde", 0xd5, true},
    {"Ouml", 0xd6, true},
    {"Phi", 0x3a6},
    {"Pi", 0x3a0},
    {"Prime", 0x2033},
    {"Psi", 0x3a8},
    {"QUOT", 0x22, true},
    {"REG", 0xae, true},
    {"Rho", 0x3a1},
    {"Scaron", 0x160},
    {"Sigma", 0x3a3},
    {"THORN", 0xde, true},
    {"Tab", 0x9},
    {"Tau", 0x3a4},
    {"Theta", 0x398},
    {"Uacute", 0xda, true},
    {"Ucirc", 0xdb, true},
    {"Ugrave", 0xd9, true},
    {"UnderBar", 0x5f},
    {"Upsilon", 0x3a5},
    {"Uuml", 0xdc, true},
    {"Xi", 0x39e},
    {"Yacute", 0xdd, true},
    {"Yuml", 0x178},
    {"Zeta", 0x396},
    {"aacute", 0xe1, true},
    {"acirc", 0xe2, true},
    {"acute", 0xb4, true},
    {"aelig", 0xe6, true},
    {"agrave", 0xe0, true},
    {"alefsym", 0x2135},
    {"alpha", 0x3b1},
    {"amp", 0x26, true},
    {"and", 0x2227},
    {"ang", 0x2220},
    {"apos", 0x27},
    {"aring", 0xe5, true},
    {"ast", 0x2a},
    {"asymp", 0x2248},
    {"atilde", 0xe3, true},
    {"auml", 0xe4, true},
    {"bdquo", 0x201e},
    {"beta", 0x3b2},
    {"brvbar", 0xa6, true},
    {"bsol", 0x5c},
    {"bull", 0x2022},
    {"cap", 0x2229},
    {"ccedil", 0xe7, true},
    {"cedil", 0xb8, true},
    {"cent", 0xa2, true},
    {"chi", 0x3c7},
    {"circ", 0x2c6},
    {"clubs", 0x2663},
    {"colon", 0x3a},
    {"comma", 0x2c},
    {"commat", 0x40},
    {"cong", 0x2245},
    {"copy", 0xa9, true},
    {"crarr", 0x21b5},
    {"cup", 0x222a},
    {"curren", 0xa4, true},
    {"dArr", 0x21d3},
    {"dagger", 0x2020},
    {"darr", 0x2193},
    {"deg", 0xb0, true},
    {"delta", 0x3b4},
    {"diams", 0x2666},
    {"divide", 0xf7, true},
    {"dollar", 0x24},
    {"eacute", 0xe9, true},
    {"ecirc", 0xea, true},
    {"egrave", 0xe8, true},
    {"empty", 0x2205},
    {"emsp", 0x2003},
    {"ensp", 0x2002},
    {"epsilon", 0x3b5},
    {"equals", 0x3d},
    {"equiv", 0x2261},
    {"eta", 0x3b7},
    {"eth", 0xf0, true},
    {"euml", 0xeb, true},
    {"euro", 0x20ac},
    {"excl", 0x21},
    {"exist", 0x2203},
    {"fnof", 0x192},
    {"forall", 0x2200},
    {"frac12", 0xbd, true},
    {"frac14", 0xbc, true},
    {"frac34", 0xbe, true},
    {"frasl", 0x2044},
    {"gamma", 0x3b3},
    {"ge", 0x2265},
    {"grave", 0x60},
    {"gt", 0x3e, true},
    {"hArr", 0x21d4},
    {"harr", 0x2194},
    {"hearts", 0x2665},
    {"hellip", 0x2026},
    {"iacute", 0xed, true},
    {"icirc", 0xee, true},
    {"iexcl", 0xa1, true},
    {"igrave", 0xec, true},
    {"image", 0x2111},
    {"infin", 0x221e},
    {"int", 0x222b},
    {"iota", 0x3b9},
    {"iquest", 0xbf, true},
    {"isin", 0x2208},
    {"iuml", 0xef, true},
    {"kappa", 0x3ba},
    {"lArr", 0x21d0},
    {"lambda", 0x3bb},
    {"lang", 0x2329},
    {"laquo", 0xab, true},
    {"larr", 0x2190},
    {"lbrace", 0x7b},
    {"lbrack", 0x5b},
    {"lceil", 0x2308},
    {"lcub", 0x7b},
    {"ldquo", 0x201c},
    {"le", 0x2264},
    {"lfloor", 0x230a},
    {"lowast", 0x2217},
    {"lowbar", 0x5f},
    {"loz", 0x25ca},
    {"lpar", 0x28},
    {"lrm", 0x200e},
    {"lsaquo", 0x2039},
    {"lsqb", 0x5b},
    {"lsquo", 0x2018},
    {"lt", 0x3c, true},
    {"macr", 0xaf, true},
    {"mdash", 0x2014},
    {"micro", 0xb5, true},
    {"midast", 0x2a},
    {"middot", 0xb7, true},
    {"minus", 0x2212},
    {"mu", 0x3bc},
    {"nabla", 0x2207},
    {"nbsp", 0xa0, true},
    {"ndash", 0x2013},
    {"ne", 0x2260},
    {"ni", 0x220b},
    {"not", 0xac, true},
    {"notin", 0x2209},
    {"nsub", 0x2284},
    {"ntilde", 0xf1, true},
    {"nu", 0x3bd},
    {"num", 0x23},
    {"oacute", 0xf3, true},
    {"ocirc", 0xf4, true},
    {"oelig", 0x153},
    {"ograve", 0xf2, true},
    {"oline", 0x203e},
    {"omega", 0x3c9},
    {"omicron", 0x3bf},
    {"oplus", 0x2295},
    {"or", 0x2228},
    {"ordf", 0xaa, true},
    {"ordm", 0xba, true},
    {"oslash", 0xf8, true},
    {"otilde", 0xf5, true},
    {"otimes", 0x2297},
    {"ouml", 0xf6, true},
    {"para", 0xb6, true},
    {"part", 0x2202},
    {"percnt", 0x25},
    {"period", 0x2e},
    {"permil", 0x2030},
    {"perp", 0x22a5},
    {"phi", 0x3c6},
    {"pi", 0x3c0},
    {"piv", 0x3d6},
    {"plus", 0x2b},
    {"plusmn", 0xb1, true},
    {"pound", 0xa3, true},
    {"prime", 0x2032},
    {"prod", 0x220f},
    {"prop", 0x221d},
    {"psi", 0x3c8},
    {"quest", 0x3f},
    {"quot", 0x22, true},
    {"rArr", 0x21d2},
    {"radic", 0x221a},
    {"rang", 0x232a},
    {"raquo", 0xbb, true},
    {"rarr", 0x2192},
    {"rbrace", 0x7d},
    {"rbrack", 0x5d},
    {"rceil", 0x2309},
    {"rcub", 0x7d},
    {"rdquo", 0x201d},
    {"real", 0x211c},
    {"reg", 0xae, true},
    {"rfloor", 0x230b},
    {"rho", 0x3c1},
    {"rlm", 0x200f},
    {"rpar", 0x29},
    {"rsaquo", 0x203a},
    {"rsqb", 0x5d},
    {"rsquo", 0x2019},
    {"sbquo", 0x201a},
    {"scaron", 0x161},
    {"sdot", 0x22c5},
    {"sect", 0xa7, true},
    {"semi", 0x3b},
    {"shy", 0xad, true},
    {"sigma", 0x3c3},
    {"sigmaf", 0x3c2},
    {"sim", 0x223c},
    {"sol", 0x2f},
    {"spades", 0x2660},
    {"sub", 0x2282},
    {"sube", 0x2286},
    {"sum", 0x2211},
    {"sup", 0x2283},
    {"sup1", 0xb9, true},
    {"sup2", 0xb2, true},
    {"sup3", 0xb3, true},
    {"supe", 0x2287},
    {"szlig", 0xdf, true},
    {"tau", 0x3c4},
    {"there4", 0x2234},
    {"theta", 0x3b8},
    {"thetasym", 0x3d1},
    {"thinsp", 0x2009},
    {"thorn", 0xfe, true},
    {"tilde", 0x2dc},
    {"times", 0xd7, true},
    {"trade", 0x2122},
    {"uArr", 0x21d1},
    {"uacute", 0xfa, true},
    {"uarr", 0x2191},
    {"ucirc", 0xfb, true},
    {"ugrave", 0xf9, true},
    {"uml", 0xa8, true},
    {"upsih", 0x3d2},
    {"upsilon", 0x3c5},
    {"uuml", 0xfc, true},
    {"verbar", 0x7c},
    {"vert", 0x7c},
    {"weierp", 0x2118},
    {"xi", 0x3be},
    {"yacute", 0xfd, true},
    {"yen", 0xa5, true},
    {"yuml", 0xff, true},
    {"zeta", 0x3b6},
    {"zwj", 0x200d},
    {"zwnj", 0x200c},
};
#define NAMES (ARRAY_LEN(names))

static const struct name *
find(const uint8_t *at, size_t len)
{
	size_t low = 0, high = NAMES, mid;
	int order;

	while (low < high) {
		mid = low + (high - low) / 2;
		order = strncmp(names[mid].name, (const char *)at, len);
		if (order == 0)
			order = names[mid].name[len] != '\0';
		if (order == 0)
			return &names[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* "#38" or "#x26" after the ampersand: its length and *ret, NONE or UNFINISHED. */
static int
number(const uint8_t *src, size_t n, uint32_t *ret)
{
	bool hex = n > 2 && (src[2] | 0x20) == 'x';
	size_t i = hex ? 3 : 2, from = i;
	uint32_t code = 0;
	int d;

	for (; i < n && i < ENTITY_MAX; i++) {
		d = decode_hex_digit(src[i]);
		if (d < 0 || (!hex && d > 9) || code > 0x10ffff)
			break;
		code = code * (hex ? 16 : 10) + (uint32_t)d;
	}
	if (i == n && i < ENTITY_MAX)
		return UNFINISHED;
	if (i == from || i == ENTITY_MAX || code == 0 || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return NONE;
	*ret = code;
	return (int)i;
}

/* A name: the whole with its semicolon, else the longest that needs none. */
static int
named(const uint8_t *src, size_t n, uint32_t *ret)
{
	const struct name *found;
	size_t i = 1, len;

	while (i < n && i < ENTITY_MAX &&
	       ((src[i] >= '0' && src[i] <= '9') ||
		   ((src[i] | 0x20) >= 'a' && (src[i] | 0x20) <= 'z')))
		i++;
	if (i == n && i < ENTITY_MAX)
		return UNFINISHED;
	found = i < n && src[i] == ';' ? find(src + 1, i - 1) : NULL;
	for (len = i - 1; len > 1 && found == NULL; len--) {
		found = find(src + 1, len);
		if (found != NULL && !found->bare)
			found = NULL;
		if (found != NULL)
			i = len + 1;
	}
	if (found == NULL)
		return NONE;
	*ret = found->code;
	return (int)i;
}

int
entity(const uint8_t *src, size_t n, uint8_t out[static 4], uint8_t *ret_len)
{
	uint32_t code = 0;
	int r = UNFINISHED;

	if (n > 1)
		r = src[1] == '#' ? number(src, n, &code) : named(src, n, &code);
	if (r <= 0)
		return r;
	*ret_len = (uint8_t)utf8_put(code, out);
	return (size_t)r < n && src[r] == ';' ? r + 1 : r;
}
