# fish completion for idlectl and idlelab
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Verbs and options are those that the program's own --help lists. Values come from the daemon, or without it from the
# files of configuration and policies.

function __idlectl_program
    echo (commandline -opc)[1]
end

function __idlectl_verbs
    set -l program (__idlectl_program)
    $program --help 2>/dev/null | sed -n '/^Verbs:/,/^Options:/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

# The words of the command line that are no options: idlectl, the verb, and so on.
function __idlectl_words
    set -l places (__idlectl_places)
    for word in (commandline -opc | string match -v -- '-*')
        contains -- $word $places; or echo $word
    end
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
    set -l verb (__idlectl_verb)
    set -l program (__idlectl_program)
    begin
        $program $verb --help
        test -z "$verb"; or $program --help | string match -v '  --json *'
    end 2>/dev/null | sed -n '/^Options:/,$s/^  \(--[a-z0-9-]*\)\( [A-Z=,]*\)\{0,1\}  *\(.*\)/\1\t\3/p'
end

# The options of the command line that say where files are.
function __idlectl_places
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        if string match -qr -- '^--(config-dir|vendor-dir|policy-dir|root)$' $words[$i]
            printf '%s\n' $words[$i] $words[(math $i + 1)]
        end
    end
end

function __idlectl_settings -a column section
    idlectl (__idlectl_places) settings $section 2>/dev/null | awk -v column=$column '$1 == "Section" { on = 1; next } on && /^[^ ]/ { print $column }' | sort -u
end

function __idlectl_policies
    idlectl (__idlectl_places) policies 2>/dev/null | awk '/^ *([0-9]+|-) / && !/^      / { print $2 }'
end

# What an option of a section may be: its choices, or an example.
function __idlectl_choices -a section key
    switch $key
        case Policies
            __idlectl_policies
        case ProfileAC ProfileBattery
            __idlectl_profiles
        case '*'
            idlectl (__idlectl_places) settings $section 2>/dev/null | awk -v key=$key '
                /^[^ ]/ { on = $2 == key; next }
                on && sub(/^ *Expects /, "") {
                    if (sub(/.*, such as /, "") || sub(/^one of /, "") || /^yes or no$/ ||
                        sub(/ or a whole number.*/, "")) {
                        gsub(/,? or |, /, "\n")
                        print
                    }
                }'
    end
end

# KEY= of a section, or KEY=VALUE when the key is there.
function __idlectl_assignments -a section
    set -l key (string match -r '^[^=]+(?==)' -- (commandline -ct))
    if test -n "$key"
        printf "$key=%s\n" (__idlectl_choices $section $key)
    else
        printf '%s=\n' (__idlectl_settings 2 $section)
    end
end

function __idlectl_profiles
    idlectl (__idlectl_places) profile 2>/dev/null | awk '$1 == "Profile" { on = 1; next } on { print $1 == "*" ? $2 : $1 }'
end

for program in idlectl idlelab
    complete -c $program -f
    complete -c $program -n 'test -z "$(__idlectl_verb)"' -a '(__idlectl_verbs)'
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -a '(__idlectl_options)'
end
complete -c idlectl -n 'contains -- (__idlectl_verb) run' -a '(__fish_complete_subcommand)'
complete -c idlectl -n 'contains -- (__idlectl_verb) bill' -a '(grep -oh "[^/]*\.\(service\|scope\)" /proc/*/cgroup 2>/dev/null | sort -u)'
complete -c idlectl -n 'contains -- (__idlectl_verb) check' -a '(__fish_complete_directories)'
complete -c idlectl -n 'contains -- (__idlectl_verb) set settings; and test -z "$(__idlectl_section)"' -a '(__idlectl_settings 1)'
complete -c idlectl -n 'contains -- (__idlectl_verb) set; and test -n "$(__idlectl_section)"' -a '(__idlectl_assignments (__idlectl_section))'
complete -c idlectl -n 'contains -- (__idlectl_verb) profile; and test -z "$(__idlectl_section)"' -a 'list get set'
complete -c idlectl -n 'contains -- (__idlectl_verb) profile; and test "$(__idlectl_section)" = set' -a 'auto (__idlectl_profiles)'
complete -c idlectl -n 'contains -- (__idlectl_verb) hold run' -l kind -x -a 'efficient fast cache island'
complete -c idlelab -n 'contains -- (__idlectl_verb) prove' -l policy -x -a '(__idlectl_policies)'
