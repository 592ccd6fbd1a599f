#!/usr/bin/env bash
# Kubernetes starts an executor of Spark with the word "executor" and describes it in variables.
# Anything else is a command of penstock.
set -euo pipefail

if [ "${1:-}" != executor ]; then
    exec penstock "$@"
fi

# SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, … have one option of Java each.
options=()
for ((number = 0; ; number++)); do
    name="SPARK_JAVA_OPT_${number}"
    [ -n "${!name+set}" ] || break
    options+=("${!name}")
done
exec java "${options[@]}" \
    "-Xms${SPARK_EXECUTOR_MEMORY}" "-Xmx${SPARK_EXECUTOR_MEMORY}" \
    -cp "${SPARK_CLASSPATH:+${SPARK_CLASSPATH}:}${SPARK_HOME}/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "${SPARK_DRIVER_URL}" \
    --executor-id "${SPARK_EXECUTOR_ID}" \
    --cores "${SPARK_EXECUTOR_CORES}" \
    --app-id "${SPARK_APPLICATION_ID}" \
    --hostname "${SPARK_EXECUTOR_POD_IP}" \
    --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID:-0}" \
    --podName "${SPARK_EXECUTOR_POD_NAME}"
