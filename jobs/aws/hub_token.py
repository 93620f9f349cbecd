"""Print the hub's token from AWS Secrets Manager: python jobs/aws/hub_token.py SECRET REGION

cluster.yaml calls this on each machine before Ray starts there; the machine's role may read the
secret. So the token is in no file, and what Ray starts has it as HF_TOKEN. Public models need
none: where there is no such secret, nothing is printed, and a line on stderr says why.
"""

import sys

from boto3 import client
from botocore.exceptions import BotoCoreError, ClientError


def hub_token(secret: str, region: str) -> str:
    try:
        stored = client("secretsmanager", region_name=region).get_secret_value(SecretId=secret)
    except (BotoCoreError, ClientError) as error:
        why = f"secret {secret} in {region}: {error}"
        print(f"no token for the hub, so only public models can be loaded: {why}", file=sys.stderr)
        return ""
    return str(stored["SecretString"]).strip()


if __name__ == "__main__":
    print(hub_token(*sys.argv[1:]))
