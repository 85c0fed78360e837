#!/bin/sh
# The one secret accessor, secret_expose(), and the files that may call it
# (SECRET_EXPOSERS in the Makefile).  S1-04
#
# Any mention counts, so a pointer to it or a macro is found too.  What the
# objects import is asked as well: a name put together by the preprocessor is
# no mention but it is a symbol.
#
#	SECRET_EXPOSERS="FILE..." accessor.sh [ROOT]	(OBJ: where objects are)
set -eu
root=${1:-.}
work=build/check/accessor
home="leash/vault/vault.h leash/vault/vault.c" # declares it; is it

is_one_of() { # WORD LIST
	case " $2 " in *" $1 "*) return 0 ;; esac
	return 1
}

judge_text() {
	(cd "$1" && grep -rl 'secret_expose' leash supervisor policy shim) |
	while read -r file; do
		is_one_of "$file" "$home $SECRET_EXPOSERS" || echo "$file"
	done
}

judge_objects() {
	find "$1"/leash "$1"/supervisor "$1"/policy "$1"/shim -name '*.o' 2>/dev/null |
	while read -r o; do
		file=${o#"$1"/}
		nm -u "$o" | grep -qw 'secret_expose' || continue
		is_one_of "${file%.o}.c" "$SECRET_EXPOSERS" || echo "$file"
	done
}

failed=0
say() { # RESULT TEXT
	echo "$1: $2"
	[ "$1" = ok ] || failed=1
}

found=$(judge_text "$root"; judge_objects "$OBJ")
if [ -z "$found" ]; then
	say ok "secret_expose is called in $SECRET_EXPOSERS alone"
else
	for f in $found; do
		say "not ok" "$f calls secret_expose and is not in SECRET_EXPOSERS"
	done
fi
# Each listed file exists and does call it: the list does not rot.
for f in $SECRET_EXPOSERS; do
	grep -q 'secret_expose(' "$root/$f" || say "not ok" "$f is listed for nothing"
done

plant() { # FILE TEXT
	rm -rf "$work"
	mkdir -p "$work"
	cp -r "$root"/leash "$root"/supervisor "$root"/policy "$root"/shim "$work"/
	mkdir -p "$work/$(dirname "$1")"
	printf '%s\n' "$2" >> "$work/$1"
	if judge_text "$work" | grep -qx "$1"; then
		say ok "a call planted in $1 is caught"
	else
		say "not ok" "a call planted in $1 is not caught"
	fi
}
plant leash/main.c 'const char *x(const struct secret *s) { return secret_expose(s); }'
plant leash/audit/writer.h '#define SAY(s) secret_expose (s)'
plant supervisor/mcp/session.c 'static const char *(*leak)(const struct secret *) = secret_expose;'
plant leash/vault/read_value.c 'void y(void) { puts(secret_expose(0)); }'

# By paste: nothing in the text, but in the object.
mkdir -p "$work/leash"
cat > "$work/leash/pasted.c" <<'C'
struct secret;
#define CALL(a, b) a##b
const char *CALL(secret_, expose)(const struct secret *);
const char *pasted(const struct secret *s);
const char *pasted(const struct secret *s) { return CALL(secret_, expose)(s); }
C
${CC:-cc} -c -o "$work/leash/pasted.o" "$work/leash/pasted.c"
if judge_objects "$work" | grep -qx leash/pasted.o; then
	say ok "a call by a pasted name is caught"
else
	say "not ok" "a call by a pasted name is not caught"
fi
rm -rf "$work"
exit $failed
