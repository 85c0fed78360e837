# Completion of kennel(1) for fish.  `kennel complete` knows what may follow.
function __kennel_complete
    set -l words (commandline -opc)
    set -l begun (commandline -ct)
    set -e words[1]
    for found in (command kennel complete $words "$begun" 2>/dev/null)
        if test "$found" = :files
            __fish_complete_path "$begun"
        else
            echo $found
        end
    end
end
complete -c kennel -f -a '(__kennel_complete)'
