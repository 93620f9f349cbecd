"""`evaljudge run --until prepare` as a job: ray job submit -- python jobs/prepare.py CONFIG"""

import sys

from evaljudge.__main__ import main

if __name__ == "__main__":
    main(["run", "--until", "prepare", *sys.argv[1:]])
