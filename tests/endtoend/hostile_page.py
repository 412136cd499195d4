"""Cells of a notebook that wants to break the page on which its report is shown.

Everything that reaches a report is tried: names, errors, outputs, images, text cells, and files
that the notebook should not find.
"""

SCRIPT = "<script>window.harm=1</script>"

TEXTS = (
    f"# {SCRIPT} [click](javascript:alert(1)) ![x](http://127.0.0.1:9/x.png)",
    "<iframe src='http://127.0.0.1:9/'></iframe> <img src=x onerror='window.harm=1'>",
    "[a](data:text/html;base64,PHNjcmlwdD4=) <http://127.0.0.1:9/> \u202e reversed \x1b[2J",
)

CELLS = (
    f"""
# {SCRIPT} '"><img src=x onerror=window.harm=1>
import os, pickle, sys, traceback
import numpy as np
import tvm
from IPython.display import HTML, SVG, Javascript, Markdown, display
from tvm import relax, te, topi
from tvm.script import relax as R
weights = pickle.load(open("fasionmnist_mlp_assignment_params.pkl", "rb"))
""",
    f"""
print("{SCRIPT}", "</script></style></title></pre><script>window.harm=1</script>")
print("\\x1b[31mred \\x1b]0;title\\x07 \\u202e back \\x00")
print("<" * 2_000_000)
""",
    f"""
display(HTML("{SCRIPT}<link rel=stylesheet href=http://127.0.0.1:9/x.css>"))
display(Javascript("window.harm=1; alert(1)"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='window.harm=1'/>"))
display(Markdown("{SCRIPT}"))
display({{"image/png": '" onerror="window.harm=1', "text/plain": "not an image"}}, raw=True)
display({{"image/png": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+", "text/html": "{SCRIPT}"}}, raw=True)
display({{"text/plain": "{SCRIPT}", "application/vnd.jupyter.widget-view+json": {{}}}}, raw=True)
""",
    """
import matplotlib.pyplot as plt
for _ in range(12):
    plt.figure(figsize=(6, 4))
    plt.imshow(np.random.default_rng(0).random((20, 30)))
    plt.title("<script>window.harm=1</script>")
    plt.show()
""",
    f"""
error = type('<img src=x onerror="window.harm=1">', (Exception,), {{}})
raise error("{SCRIPT}" * 1000)
""",
    """
print(sys.path, sys.prefix, sys.executable, os.getcwd(), os.path.expanduser("~"), dict(os.environ))
for folder in ("/", *sys.path):
    for name in ("oracle.py", "workload.py", "assignments/e2e-conv/oracle.py"):
        try:
            print(open(os.path.join(folder, name)).read())
        except OSError as found:
            print(found)
tvm.no_such_name
""",
    """
def hostile(name):
    bb = relax.BlockBuilder()
    x = relax.Var(name, R.Tensor((4, 1, 28, 28), "float32"))
    weight = relax.const(weights["conv2d_weight"].reshape(32, 1, 3, 3), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit_te(topi.nn.conv2d, x, weight, 1, 0, 1, primfunc_name_hint=name)
            gv = bb.emit_output(lv)
        bb.emit_func_output(gv)
    return bb.get()

def create_model_via_emit_te():
    return hostile("<svg onload=alert(1)>")

def create_model_with_torch_func():
    raise ValueError("</script><script>window.harm=1</script>")

sch = tvm.s_tir.Schedule(hostile("conv2d"))
sch.get_sblock("<script>")
""",
    "\n".join(f"print({number}, '<b>')" for number in range(3000)),
    *("print('<&\\'' * 4000)" for _ in range(40)),
    "def (",
    "print('half of a pair: \\ud83d')",
    "exit()",
)
