# Read by every shell of a job (BASH_ENV): models are asked by faulty.py, which lets what $FAULTS/MODEL names befall them.
worldprobe() {
    if [ "${1-} ${2-}" = "score all" ] || [ "${1-} ${2-}" = "series score" ]; then
        command "${WORLDPROBE_PYTHON:-python}" "${BASH_ENV%faults.sh}faulty.py" "$@"
    else
        command worldprobe "$@"
    fi
}
