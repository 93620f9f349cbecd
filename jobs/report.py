"""`evaljudge report` as a job: ray job submit -- python jobs/report.py CONFIG [--set KEY=VALUE]"""

import sys

from evaljudge.__main__ import main

if __name__ == "__main__":
    main(["report", *sys.argv[1:]])
