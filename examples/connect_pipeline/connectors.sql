-- Both ends of the pipeline. ${host}, ${port}, ${database}, ${user}, ${password} and ${bucket} are
-- given with --define.

RUN SCRIPT 'app.sql';

-- Every row that is inserted or updated becomes a record with the columns of the row.
CREATE SOURCE CONNECTOR IF NOT EXISTS `warehouse` WITH (
    'connector.class' = 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname' = '${host}',
    'database.port' = '${port}',
    'database.dbname' = '${database}',
    'database.user' = '${user}',
    'database.password' = '${password}',
    'topic.prefix' = 'warehouse',
    'plugin.name' = 'pgoutput',
    'publication.autocreate.mode' = 'filtered',
    'table.include.list' = 'public.products',
    'tombstones.on.delete' = 'false',
    'transforms' = 'row',
    'transforms.row.type' = 'io.debezium.transforms.ExtractNewRecordState'
);

-- A file in a folder stands for an object in a bucket: this sink is always there and needs no
-- account. For S3, take the class and the properties of the S3 sink that you have installed.
CREATE SINK CONNECTOR IF NOT EXISTS `bucket` WITH (
    'connector.class' = 'org.apache.kafka.connect.file.FileStreamSinkConnector',
    'topics' = 'reorders',
    'file' = '${bucket}/reorders.jsonl',
    'value.converter' = 'org.apache.kafka.connect.storage.StringConverter'
);
