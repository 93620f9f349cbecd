#!/bin/sh
# On a spot machine of AWS: at the notice, two minutes before the machine is taken away, Ray gives
# it no more shards, and its workers finish those that they have begun. cluster.yaml starts this.
metadata=169.254.169.254/latest
while sleep 5; do
  token=$(curl -fsm 2 -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 60" $metadata/api/token) || continue
  notice=$metadata/meta-data/spot/instance-action # not found until there is one
  curl -fsm 2 -o /dev/null -H "X-aws-ec2-metadata-token: $token" $notice || continue
  exec ray drain-node --reason DRAIN_NODE_REASON_PREEMPTION --reason-message spot-notice \
    --deadline-remaining-seconds 110
done
