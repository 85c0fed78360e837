/*
 * SHA-256 of params and results, with the log's implementation (shim/base/sha256.c):
 * half a millisecond per megabyte if the processor has SHA instructions.
 */
#include "supervisor/audit/log/merkle.h"
#include "supervisor/json/json.h"

void
mcp_digest(const uint8_t *bytes, size_t len, uint8_t ret[MERKLE_HASH_LEN])
{
	merkle_digest(bytes, len, ret);
}
