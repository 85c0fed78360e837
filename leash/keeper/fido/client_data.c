/*
 * What a browser says it signed for (WebAuthn Level 2, section 5.8.1): JSON with the
 * type of the ceremony, the challenge and the origin of the page.
 */
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "leash/keeper/fido/fido.h"

#define ORIGIN "http://" FIDO_RP

/* The console's page, on any port: the keeper does not know which one it has. */
static bool
is_local_page(const char *origin)
{
	const char *port = origin + sizeof(ORIGIN) - 1;
	size_t digits;

	if (strncmp(origin, ORIGIN, sizeof(ORIGIN) - 1) != 0)
		return false;
	if (*port == '\0')
		return true;
	digits = strspn(port + 1, "0123456789");
	return *port == ':' && digits >= 1 && digits <= 5 && port[1 + digits] == '\0';
}

static bool
member_is(const json_t *o, const char *name, const char *text)
{
	const char *is = json_string_value(json_object_get(o, name));

	return is != NULL && strcmp(is, text) == 0;
}

static const char *
object_wrong(const json_t *o, const char *type, const char *challenge)
{
	const char *origin = json_string_value(json_object_get(o, "origin"));
	const json_t *cross = json_object_get(o, "crossOrigin");

	if (!member_is(o, "type", type))
		return "the browser signed for another purpose";
	if (!member_is(o, "challenge", challenge))
		return "the browser signed another challenge";
	if (origin == NULL || !is_local_page(origin))
		return "the page was not one of http://" FIDO_RP;
	if ((cross != NULL && !json_is_false(cross)) ||
	    json_object_get(o, "topOrigin") != NULL)
		return "the page was inside another one";
	return NULL;
}

const char *
client_data_wrong(
    struct span json, const char *type, const uint8_t challenge[FIDO_CHALLENGE_LEN])
{
	char text[sodium_base64_ENCODED_LEN(
	    FIDO_CHALLENGE_LEN, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
	json_t *o =
	    json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
	const char *why;

	(void)sodium_bin2base64(text, sizeof(text), challenge, FIDO_CHALLENGE_LEN,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	why = json_is_object(o) ? object_wrong(o, type, text)
				: "the browser's data is not a JSON object";
	json_decref(o);
	return why;
}
