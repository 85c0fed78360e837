rg -n --sort path needle .
rg --files | sort
rg -c absent . ; echo "absent: $?"
rg -uu -g '*.txt' needle | sort
for more in "--pre /bin/cat" "--pre=/bin/cat" "-z" "--search-zip"; do
	rg $more needle . >/dev/null 2>&1
	echo "$more: $?"
done
