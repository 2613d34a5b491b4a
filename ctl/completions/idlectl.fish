# fish completion for idlectl
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs and options are those that idlectl's own --help lists.

function __idlectl_verbs
    idlectl --help 2>/dev/null | sed -n '/^Verbs:/,/^Options:/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

# The words of the command line that are no options: idlectl, the verb, and so on.
function __idlectl_words
    commandline -opc | string match -v -- '-*'
end

function __idlectl_verb
    set -l words (__idlectl_words)
    echo $words[2]
end

function __idlectl_section
    set -l words (__idlectl_words)
    echo $words[3]
end

function __idlectl_options
    idlectl (__idlectl_verb) --help 2>/dev/null |
        sed -n '/^Options:/,$s/^  \(--[a-z-]*\)\( [A-Z=,]*\)\{0,1\}  *\(.*\)/\1\t\3/p'
end

function __idlectl_settings -a column section
    idlectl settings $section 2>/dev/null | awk -v column=$column '$1 == "Section" { on = 1; next } on && /^[^ ]/ { print $column }' | sort -u
end

function __idlectl_profiles
    idlectl profile 2>/dev/null | awk '$1 == "Profile" { on = 1; next } on { print $1 == "*" ? $2 : $1 }'
end

complete -c idlectl -f
complete -c idlectl -n 'test -z "$(__idlectl_verb)"' -a '(__idlectl_verbs)'
complete -c idlectl -n 'string match -q -- "-*" (commandline -ct)' -a '(__idlectl_options)'
complete -c idlectl -n 'contains -- (__idlectl_verb) run' -a '(__fish_complete_subcommand)'
complete -c idlectl -n 'contains -- (__idlectl_verb) check' -a '(__fish_complete_directories)'
complete -c idlectl -n 'contains -- (__idlectl_verb) set settings; and test -z "$(__idlectl_section)"' -a '(__idlectl_settings 1)'
complete -c idlectl -n 'contains -- (__idlectl_verb) set; and test -n "$(__idlectl_section)"' -a '(__idlectl_settings 2 (__idlectl_section))='
complete -c idlectl -n 'contains -- (__idlectl_verb) profile; and test -z "$(__idlectl_section)"' -a 'list get set'
complete -c idlectl -n 'contains -- (__idlectl_verb) profile; and test "$(__idlectl_section)" = set' -a 'auto (__idlectl_profiles)'
