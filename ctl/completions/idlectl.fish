# fish completion for idlectl
# SPDX-License-Identifier: LGPL-2.1-or-later

set -l verbs status cpus why policies set profile check settings verify hold run holds dump

function __idlectl_settings -a column section
    idlectl settings $section 2>/dev/null | awk -v column=$column '$1 == "Section" { on = 1; next } on && /^[^ ]/ { print $column }' | sort -u
end

function __idlectl_profiles
    idlectl profile 2>/dev/null | awk '$1 == "Profile" { on = 1; next } on { print $1 == "*" ? $2 : $1 }'
end

function __idlectl_section
    set -l words (commandline -opc | string match -v -- '-*')
    echo $words[3]
end

complete -c idlectl -f
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a status -d 'Show the daemon, the machine, and what is kept asleep'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a cpus -d 'Show every CPU'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a why -d 'Say why CPUs are parked or not'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a policies -d 'Show what every policy wishes'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a set -d 'Change options while the daemon runs'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a profile -d 'Show the profiles, or choose one'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a check -d 'Check the configuration'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a settings -d 'Show every option'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a verify -d 'Check that everything is as idled left it'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a hold -d 'Ask for latency, cores or frequency until interrupted'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a run -d 'Run a command, and hold for as long as it runs'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a holds -d 'Show who holds what'
complete -c idlectl -n "not __fish_seen_subcommand_from $verbs" -a dump -d 'Print everything, for a report'
complete -c idlectl -n "not __fish_seen_subcommand_from run" -l json -d 'Print one JSON document'
complete -c idlectl -l no-colour -d 'No colours'
complete -c idlectl -l help -d 'Print help'
complete -c idlectl -l version -d 'Print the version'
complete -c idlectl -l session-bus -d 'Ask the daemon on the session bus'
complete -c idlectl -l bus-address -x -d 'Ask the daemon on the bus there'
complete -c idlectl -l root -x -a '(__fish_complete_directories)' -d 'The machine is below this directory'
complete -c idlectl -l run -x -a '(__fish_complete_directories)' -d 'Where idled keeps its record'
complete -c idlectl -l config-dir -x -a '(__fish_complete_directories)' -d "The administrator's files"
complete -c idlectl -l vendor-dir -x -a '(__fish_complete_directories)' -d 'The shipped files'
complete -c idlectl -l policy-dir -x -a '(__fish_complete_directories)' -d Policies
complete -c idlectl -n "__fish_seen_subcommand_from cpus" -l interval -x -a '200ms 1s 5s 10s' -d 'Measure over this time'
complete -c idlectl -n "__fish_seen_subcommand_from why" -l history -d 'Tell of the last transitions'
complete -c idlectl -n "__fish_seen_subcommand_from dump" -l knobs -d 'Only the values of all knobs'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l latency -x -a '0 20us 50us 100us 500us' -d 'Be woken within this time'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l cores -x -d 'Have so many cores in use'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l min-frequency -x -d 'Not slower than this'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l cpus -x -d 'Keep these in use, and ask for them'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l profile -x -a '(__idlectl_profiles)' -d 'Have this profile in force'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l global -d 'The latency is for all CPUs of the machine'
complete -c idlectl -n "__fish_seen_subcommand_from hold run" -l reason -x -d 'What for'
complete -c idlectl -n "__fish_seen_subcommand_from hold" -l pid -x -a '(__fish_complete_pids)' -d 'For this process, until it ends'
complete -c idlectl -n "__fish_seen_subcommand_from hold" -l for -x -a '10s 1min 1h' -d 'End the hold after this time'
complete -c idlectl -n "__fish_seen_subcommand_from run" -a '(__fish_complete_subcommand)'
complete -c idlectl -n "__fish_seen_subcommand_from check" -a '(__fish_complete_directories)'
complete -c idlectl -n '__fish_seen_subcommand_from set settings; and test -z "$(__idlectl_section)"' -a '(__idlectl_settings 1)'
complete -c idlectl -n '__fish_seen_subcommand_from set; and test -n "$(__idlectl_section)"' -a '(__idlectl_settings 2 (__idlectl_section))='
complete -c idlectl -n '__fish_seen_subcommand_from profile; and test -z "$(__idlectl_section)"' -a 'list get set'
complete -c idlectl -n '__fish_seen_subcommand_from profile; and test "$(__idlectl_section)" = set' -a 'auto (__idlectl_profiles)'
