/*
 * Which name services are used, of what /etc/nsswitch.conf may say; and the corpus
 * of the fuzz target.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/host/nsswitch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"

static void
which_are_used(void **state)
{
	static const struct {
		const char *text, *used, *left_out;
	} rows[] = {
	    {"", "", ""},
	    {"passwd: files sss\n", "", ""},
	    {"hosts: files dns\n", "files dns", ""},
	    {"hosts:files dns", "files dns", ""},
	    {" \thosts \t: resolve\tmyhostname # sss\n", "resolve myhostname", ""},
	    {"hosts: files mdns4_minimal [NOTFOUND=return] dns mymachines\n", "files dns",
		"mdns4_minimal mymachines"},
	    {"hosts: resolve [!UNAVAIL=return] files\n",
		"resolve [!UNAVAIL=return] files", ""},
	    {"hosts: dns[NOTFOUND=return]sss\n", "dns [NOTFOUND=return]", "sss"},
	    {"hosts: dns [NOTFOUND=return", "dns [NOTFOUND=return", ""},
	    /* glibc crashes on an empty list */
	    {"hosts: sss winbind\n", "files", "sss winbind"},
	    {"hosts:\n", "files", ""},
	    /* the last line counts */
	    {"hosts: sss\nhosts: dns\n", "dns", ""},
	    {"hosts: dns\nhosts: sss files\n", "files", "sss"},
	    {"#hosts: sss\nhostsx: sss\nhosts sss\nhosts: dns\n", "dns", ""},
	};
	struct nsswitch_hosts hosts;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
		    nsswitch_hosts_in(rows[i].text, strlen(rows[i].text), &hosts), 0);
		assert_string_equal(hosts.used, rows[i].used);
		assert_string_equal(hosts.left_out, rows[i].left_out);
		assert_true((hosts.left_out_n > 0) == (rows[i].left_out[0] != '\0'));
	}
}

static void
too_long(void **state)
{
	char text[1024] = "hosts:";
	struct nsswitch_hosts hosts;

	(void)state;
	while (strlen(text) < 700)
		strcat(text, " sss");
	assert_int_equal(nsswitch_hosts_in(text, strlen(text), &hosts), 0);
	assert_string_equal(hosts.used, "files");
	assert_true(hosts.left_out_n > sizeof(hosts.left_out) / 4);
	strcpy(text, "hosts:");
	while (strlen(text) < 700)
		strcat(text, " dns");
	assert_int_equal(nsswitch_hosts_in(text, strlen(text), &hosts), -E2BIG);
}

static void
replay(const char *name, const uint8_t *data, size_t len)
{
	(void)name;
	(void)LLVMFuzzerTestOneInput(data, len);
}

static void
any_bytes(void **state)
{
	(void)state;
	assert_true(corpus_each("tests/fuzz/corpus/nsswitch", replay) >= 4);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(which_are_used),
	    cmocka_unit_test(too_long),
	    cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
