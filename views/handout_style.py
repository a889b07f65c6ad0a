"""How a handout looks: black on white, for A4, with the system's own fonts."""

from __future__ import annotations

STYLE = """
@page { size: A4; margin: 18mm 17mm; }
body { margin: 0; background: #fff; color: #0f172a; font: 11pt/1.5 system-ui, sans-serif; }
main { max-width: 176mm; margin: 0 auto; padding: 8mm; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 22pt; line-height: 1.2; }
h2 { margin: 1.6em 0 0.4em; font-size: 15pt; }
h3 { margin: 1.2em 0 0.3em; font-size: 12pt; }
h2, h3, caption { break-after: avoid; }
header p { margin: 0; color: #475569; }
header .question { margin: 0.3em 0 1.5em; font-size: 14pt; color: #0f172a; }
a { color: #1d4ed8; }
table { width: 100%; margin: 1em 0; border-collapse: collapse; font-size: 9pt; }
caption { padding: 0.3em 0; text-align: left; color: #475569; }
th, td { padding: 0.2em 0.5em; border-bottom: 1px solid #cbd5e1; text-align: left; }
tr, figure, dd, .ask { break-inside: avoid; }
figure { margin: 1em 0; }
figcaption, .aside { color: #475569; font-size: 9pt; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
pre { padding: 0.7em; border: 1px solid #cbd5e1; font-size: 7.5pt; line-height: 1.35; white-space: pre-wrap; }
code { font-family: ui-monospace, monospace; }
.ask { margin: 1em 0; padding: 0.2em 1em 0.8em; border: 1.5px solid #0f172a; border-radius: 6px; }
.options { list-style: "\\25A1\\00A0\\00A0"; }
.space::before { content: ""; display: inline-block; width: 45mm; margin-right: 0.5em; border-bottom: 1.5px solid; }
.right { font-size: 13pt; }
dt { margin-top: 0.8em; font-weight: 600; break-after: avoid; }
dd { margin: 0; }
dd p { margin: 0.2em 0; }
@media screen { body { background: #eef2f7; } main { background: #fff; } }
@media print { main { max-width: none; padding: 0; } a { color: inherit; } h2.told { break-before: auto; } }
@media print { .ask ~ h2.told { break-before: page; } h2.told ~ h2.told { break-before: auto; } }
"""
