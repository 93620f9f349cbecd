"""The commands as functions: `evaljudge.agree`, `check`, `diff`, `export`, … (docs/python.md)."""

from evaljudge.commands import options
from evaljudge.commands.agree import agreed
from evaljudge.commands.calibrate import calibrated
from evaljudge.commands.check import checked
from evaljudge.commands.diff import compare_runs
from evaljudge.commands.export import exported
from evaljudge.commands.label import label_texts
from evaljudge.commands.options import function
from evaljudge.commands.show import show_text
from evaljudge.commands.why import why as critiques

agree = function(options.AgreeOptions, agreed)
calibrate = function(options.CalibrateOptions, calibrated)
check = function(options.CheckOptions, checked)
diff = function(options.DiffOptions, compare_runs)
export = function(options.ExportOptions, exported)
label = function(options.LabelOptions, label_texts)
show = function(options.ShowOptions, show_text)
why = function(options.WhyOptions, critiques)
