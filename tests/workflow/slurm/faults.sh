# Read by every shell of a job (BASH_ENV): models are asked by faulty.py, which lets what $FAULTS/MODEL names befall them.
worldprobe() {
    case " $* " in
        *" -- score all "* | *" -- series score "*)
            command "${WORLDPROBE_PYTHON:-python}" "${BASH_ENV%faults.sh}faulty.py" "$@" ;;
        *) command worldprobe "$@" ;;
    esac
}
