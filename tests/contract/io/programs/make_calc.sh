#!/usr/bin/env bash
# LibreOffice 7.4: what its Save As makes of study.csv; 44 and 9 are
# delimiters, 76 is UTF-8, 65535 UTF-16
# usage: make_calc.sh, with soffice on the PATH
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp r_write_csv.csv "$work/study.csv"
calc() { soffice --headless "-env:UserInstallation=file://$work/home" --convert-to "$1" --outdir "$work" "$2" > "$work/log" 2>&1; }
calc ods "$work/study.csv"
calc xls "$work/study.ods"
cp "$work/study.ods" calc.ods
cp "$work/study.xls" calc.xls
calc 'csv:Text - txt - csv (StarCalc):44,34,76' "$work/study.ods"
cp "$work/study.csv" calc.csv
calc 'csv:Text - txt - csv (StarCalc):9,34,65535' "$work/study.ods"
cp "$work/study.csv" calc_unicode.txt
