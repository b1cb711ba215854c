# Read by every shell of a job (BASH_ENV): lets a model's first scoring fail in the way that $FAULTS/MODEL names.
python() {
    local model kind
    model=$(printf '%s\n' "$@" | grep -A1 -x -- --model | tail -n 1)
    if [ "${4-}" = all ] && [ -n "$model" ] && [ -f "$FAULTS/$model" ]; then
        kind=$(cat "$FAULTS/$model")
        rm "$FAULTS/$model"
        case $kind in
            cuda) echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB." >&2; return 1 ;;
            memory) command python -c 'import time; held = bytearray(5_000_000_000); time.sleep(60)'; return 1 ;;
            hang) sleep 3600 ;;
        esac
    fi
    command python "$@"
}
