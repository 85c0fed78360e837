# Completion of kennel(1) for bash.  `kennel complete` knows what may follow.
_kennel() {
	local word begun=${COMP_WORDS[COMP_CWORD]} files=
	COMPREPLY=()
	while IFS= read -r word; do
		if [ "$word" = :files ]; then
			files=1
		else
			COMPREPLY+=("$word")
		fi
	done < <(command kennel complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if [ -n "$files" ]; then
		compopt -o filenames 2>/dev/null
		while IFS= read -r word; do
			COMPREPLY+=("$word")
		done < <(compgen -f -- "$begun")
	fi
}
complete -F _kennel kennel
