/*
 * payload.db: encrypted payloads that a policy keeps in full, by digest.
 *
 * It is not part of the log: rows may be removed, and a falsified row does not match
 * the digest in the log's record.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/audit/log/kept_payloads.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/log/schema.h"

#define DB_NAME "payload.db"
#define BUSY_MS 5000

struct payloads {
	sqlite3 *db;
	struct payload_key *key;
};

static const char table[] =
    "CREATE TABLE payload(digest BLOB PRIMARY KEY, ts INTEGER NOT NULL, "
    "sealed BLOB NOT NULL) STRICT, WITHOUT ROWID";

/* ---- open -------------------------------------------------------------------------- */

static int
make_table(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(
	    db, "SELECT 1 FROM sqlite_schema WHERE name = 'payload'", -1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	if (code == SQLITE_ROW)
		return 0;
	if (code != SQLITE_DONE)
		return sqlite_errno(code);
	return sqlite_errno(sqlite3_exec(db, table, NULL, NULL, NULL));
}

/* Is the schema exactly our table? Readers do not trust it. -EBADMSG: no. */
static int
check_table(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int rows = 0, r = -EBADMSG;
	int code = sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema", -1, &s, NULL);

	while ((code == SQLITE_OK || code == SQLITE_ROW) &&
	       (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(s, 0);

		rows++;
		r = sql != NULL && strcmp(sql, table) == 0 ? 0 : -EBADMSG;
	}
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	return code != SQLITE_DONE ? sqlite_errno(code) : rows == 1 ? r : -EBADMSG;
}

static int
open_db(const char *log_dir, bool writes, sqlite3 **ret)
{
	char path[AUDIT_PATH_MAX];
	sqlite3 *db = NULL;
	struct stat st;
	mode_t mask;
	int code, r = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/" DB_NAME, log_dir) >= sizeof(path))
		return -ENAMETOOLONG;
	if (!writes && stat(path, &st) < 0) /* syscalls: newfstatat stat */
		return -errno;
	mask = umask(0177); /* syscalls: umask */
	code = sqlite3_open_v2(path, &db,
	    writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY,
	    NULL);
	if (code == SQLITE_OK) {
		(void)sqlite3_busy_timeout(db, BUSY_MS);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		(void)sqlite3_limit(
		    db, SQLITE_LIMIT_LENGTH, (int)(PAYLOAD_MAX + PAYLOAD_ADDED + 4096));
		/* overwrite what is removed */
		code = sqlite3_exec(db,
		    "PRAGMA secure_delete=ON; PRAGMA mmap_size=0; "
		    "PRAGMA synchronous=FULL; PRAGMA cell_size_check=ON",
		    NULL, NULL, NULL);
	}
	r = sqlite_errno(code);
	if (r == 0 && writes)
		r = make_table(db);
	(void)umask(mask);
	if (r == 0)
		r = check_table(db);
	if (r < 0)
		(void)sqlite3_close(db);
	else
		*ret = db;
	return r;
}

int
payloads_open(const char *log_dir, bool writes, struct payloads **ret)
{
	struct payloads *p = calloc(1, sizeof(*p));
	int dir, r;

	if (p == NULL)
		return -ENOMEM;
	dir = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : open_db(log_dir, writes, &p->db);
	if (r == 0)
		r = payload_key_open(dir, writes, &p->key);
	fd_close(&dir);
	if (r < 0)
		payloads_close(p);
	else
		*ret = p;
	return r;
}

void
payloads_close(struct payloads *p)
{
	if (p == NULL)
		return;
	(void)sqlite3_close(p->db); /* all statements are finalized */
	payload_key_free(p->key);
	free(p);
}

/* ---- put, get, remove ------------------------------------------------------------------ */

int
payloads_put(struct payloads *p, uint64_t ts_ns, const void *plain, size_t len,
    uint8_t ret_digest[MERKLE_HASH_LEN])
{
	uint8_t digest[MERKLE_HASH_LEN], *sealed;
	sqlite3_stmt *s = NULL;
	int r;

	if (len > PAYLOAD_MAX)
		return -EMSGSIZE;
	sealed = malloc(len + PAYLOAD_ADDED);
	if (sealed == NULL)
		return -ENOMEM;
	merkle_digest(plain, len, digest);
	r = payload_seal(p->key, digest, plain, len, sealed);
	if (r == 0)
		r = sqlite_errno(sqlite3_prepare_v2(p->db,
		    "INSERT INTO payload VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE "
		    "SET ts = max(ts, ?2)",
		    -1, &s, NULL));
	if (r == 0) {
		(void)sqlite3_bind_blob(s, 1, digest, sizeof(digest), SQLITE_STATIC);
		(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)ts_ns);
		(void)sqlite3_bind_blob64(
		    s, 3, sealed, len + PAYLOAD_ADDED, SQLITE_STATIC);
		r = sqlite_errno(sqlite3_step(s));
	}
	(void)sqlite3_finalize(s); /* the result was checked at the step */
	free(sealed);
	if (r == 0)
		memcpy(ret_digest, digest, sizeof(digest));
	return r;
}

/* Decrypts and checks that the plaintext has the requested digest. */
static int
unseal(struct payloads *p, const uint8_t digest[MERKLE_HASH_LEN], const uint8_t *sealed,
    size_t len, void **ret, size_t *ret_len)
{
	uint8_t is[MERKLE_HASH_LEN];
	void *plain;
	int r;

	if (len < PAYLOAD_ADDED || len > PAYLOAD_MAX + PAYLOAD_ADDED)
		return -EBADMSG;
	plain = malloc(len - PAYLOAD_ADDED + 1);
	if (plain == NULL)
		return -ENOMEM;
	r = payload_unseal(p->key, digest, sealed, len, plain);
	if (r == 0) {
		merkle_digest(plain, len - PAYLOAD_ADDED, is);
		r = memcmp(is, digest, sizeof(is)) == 0 ? 0 : -EBADMSG;
	}
	if (r < 0) {
		free(plain);
		return r;
	}
	*ret = plain;
	*ret_len = len - PAYLOAD_ADDED;
	return 0;
}

int
payloads_keep(void *payloads, const void *bytes, size_t len)
{
	uint8_t digest[MERKLE_HASH_LEN];
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -errno;
	return payloads_put(payloads,
	    (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, bytes, len,
	    digest);
}

int
payloads_get(struct payloads *p, const uint8_t digest[MERKLE_HASH_LEN], void **ret,
    size_t *ret_len)
{
	sqlite3_stmt *s = NULL;
	int code, r = -EBADMSG;

	if (sqlite3_prepare_v2(p->db,
		"SELECT sealed FROM payload NOT INDEXED WHERE digest = ?1", -1, &s,
		NULL) == SQLITE_OK) {
		(void)sqlite3_bind_blob(s, 1, digest, MERKLE_HASH_LEN, SQLITE_STATIC);
		code = sqlite3_step(s);
		if (code == SQLITE_DONE)
			r = -ENOENT;
		else if (code == SQLITE_ROW && sqlite3_column_blob(s, 0) != NULL)
			r = unseal(p, digest, sqlite3_column_blob(s, 0),
			    (size_t)sqlite3_column_bytes(s, 0), ret, ret_len);
	}
	(void)sqlite3_finalize(s);
	return r;
}

int
payloads_prune(struct payloads *p, uint64_t before_ns, uint64_t *ret_n)
{
	sqlite3_stmt *s = NULL;
	int r = sqlite_errno(
	    sqlite3_prepare_v2(p->db, "DELETE FROM payload WHERE ts < ?1", -1, &s, NULL));

	if (r == 0) {
		(void)sqlite3_bind_int64(s, 1, (sqlite3_int64)before_ns);
		r = sqlite_errno(sqlite3_step(s));
	}
	(void)sqlite3_finalize(s);
	if (r < 0)
		return r;
	*ret_n = (uint64_t)sqlite3_changes(p->db);
	/* shrink the file, so that no free page keeps data */
	return sqlite_errno(sqlite3_exec(p->db, "VACUUM", NULL, NULL, NULL));
}
