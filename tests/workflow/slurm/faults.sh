# Read by every shell of a job (BASH_ENV): models are asked by faulty.py, which lets what $FAULTS/MODEL names befall them.
python() {
    if [ "${3-} ${4-}" = "score all" ]; then
        shift 2
        command python "${BASH_ENV%faults.sh}faulty.py" "$@"
    else
        command python "$@"
    fi
}
