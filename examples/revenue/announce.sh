set -eu
echo "$MONTH: $TOTAL EUR"
