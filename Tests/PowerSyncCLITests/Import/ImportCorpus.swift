/// Folders of apps of the established service, as people keep them, written for these tests.
enum ImportCorpus {
    /// A folder, and what becomes of it.
    struct Project: Sendable, CustomStringConvertible {
        let description: String
        /// The texts of the files by their paths.
        var files: [String: String]
        /// The service configuration to take, if there are several.
        var named: String?
        /// Lines that the new service configuration has.
        var service: [String] = []
        /// Texts that it does not have.
        var secrets: [String] = []
        /// Lines that the new sync config has.
        var sync: [String] = []
        /// The path of the statements that make tables.
        var schema: String?
        /// Beginnings of lines that are printed.
        var printed: [String] = []
        /// Whether nothing is left to do by hand.
        var isUsable = true
        /// Why nothing is taken over.
        var refusal: String?
    }

    private static let streams = """
        # yaml-language-server: $schema=https://unpkg.com/@powersync/service-sync-rules/schema/sync_rules.json
        config:
          edition: 3
        streams:
          lists:
            auto_subscribe: true
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()

        """

    private static let definitions = """
        bucket_definitions:
          user_lists:
            parameters: SELECT request.user_id() AS user_id
            data:
              - SELECT * FROM lists WHERE owner_id = bucket.user_id

        """

    private static let compose = """
        services:
          mongo:
            image: mongo:7.0
          pg-db:
            image: postgres:latest
          powersync:
            image: journeyapps/powersync-service:latest
            restart: unless-stopped
            command: ["start", "-r", "unified"]
            depends_on:
              mongo:
                condition: service_started
              pg-db:
                condition: service_healthy
            volumes:
              - ./powersync:/config
            environment:
              POWERSYNC_CONFIG_PATH: /config/service.yaml
              PS_LOG_LEVEL: info
            env_file: .env
            ports:
              - 8080:8080
            healthcheck:
              test: ["CMD", "node", "-e", "fetch('http://localhost:8080/probes/liveness')"]

        """

    static let all: [Project] = [supabase, prisma, unified, inline, mysql, files, several, hosted, mongo, byHand]

    static let supabase = Project(
        description: "Supabase, streams, MongoDB for buckets, compose",
        files: [
            "powersync/service.yaml": """
            # yaml-language-server: $schema=https://unpkg.com/@powersync/service-schema/json-schema/powersync-config.json
            _type: self-hosted
            replication:
              connections:
                - type: postgresql
                  uri: !env PS_DATA_SOURCE_URI
                  sslmode: disable # local only
            storage:
              type: mongodb
              uri: !env PS_MONGO_URI
            port: 8080
            sync_config:
              path: sync-config.yaml
            client_auth:
              supabase: true
              supabase_jwt_secret: !env PS_SUPABASE_JWT_SECRET
            api:
              tokens: [!env PS_ADMIN_TOKEN]
            telemetry:
              disable_telemetry_sharing: true
            """,
            "powersync/sync-config.yaml": streams,
            "supabase/migrations/20240101000000_lists.sql": """
            create table public.lists (id uuid primary key default gen_random_uuid(), owner_id uuid not null);
            alter table public.lists enable row level security;
            """,
            "supabase/migrations/20240201000000_name.sql": "alter table lists add column name text;",
            ".env": """
            PS_DATA_SOURCE_URI=postgresql://postgres:postgres@db:5432/postgres
            PS_SUPABASE_JWT_SECRET='super-secret-jwt-token-with-at-least-32-characters'
            """,
            "docker-compose.yaml": compose, "package.json": "{}",
            "node_modules/x/service.yaml": "replication: {}",
        ],
        service: [
            "_type: self-hosted", "      uri: !env PS_DATA_SOURCE_URI", "      sslmode: disable", "  type: sqlite",
            "  path: \"/data/buckets.db\"", "  path: sync.yaml", "  supabase: true",
            "# yaml-language-server: $schema=.powersync/service.schema.json",
        ],
        secrets: ["mongodb", "telemetry"],
        sync: ["# yaml-language-server: $schema=.powersync/sync.schema.json", "  lists:"],
        schema: "supabase/migrations",
        printed: [
            "  storage: buckets are kept in a file, of the type sqlite, not in mongodb",
            "  telemetry.disable_telemetry_sharing: nothing is ever sent",
            "Variables of the environment that have to be set:", "  PS_ADMIN_TOKEN",
            "  supabase/migrations: 1 table,", "  powersync-swift/sync.yaml: 1 stream, ready to deploy",
            "In docker-compose.yaml, in place of powersync;", "      image: powersync",
            "        - \"./powersync-swift:/config:ro\"", "        pg-db:",
        ]
    )

    static let prisma = Project(
        description: "A backend with Prisma, definitions, a password in the file",
        files: [
            "config/config.yaml": """
            replication:
              connections:
                - type: postgresql
                  uri: postgresql://powersync:hunter2@localhost:5432/app
            storage: {type: mongodb, uri: 'mongodb://localhost:27017/powersync'}
            sync_rules: {path: sync_rules.yaml}
            client_auth:
              audience: [powersync-dev]
              jwks:
                keys:
                  - {kty: oct, alg: HS256, kid: dev, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy}
            """,
            "config/sync_rules.yaml": definitions,
            "prisma/migrations/20240101_init/migration.sql": """
            -- CreateEnum
            CREATE TYPE "Role" AS ENUM ('USER', 'ADMIN');
            -- CreateTable
            CREATE TABLE "lists" (
                "id" TEXT NOT NULL,
                "owner_id" TEXT NOT NULL,
                "role" "Role" NOT NULL DEFAULT 'USER',
                CONSTRAINT "lists_pkey" PRIMARY KEY ("id")
            );
            """,
            "prisma/migrations/20240102_more/migration.sql":
                "ALTER TABLE \"lists\" ADD COLUMN \"name\" TEXT;\nCREATE TABLE x (id int);",
        ],
        service: [
            "      uri: !env PS_DATA_SOURCE_URI", "        k: !env PS_JWT_SECRET", "  path: \"data/buckets.db\"",
        ],
        secrets: ["hunter2", "c2VjcmV0"],
        sync: ["streams:", "  user_lists:"],
        schema: "prisma/migrations",
        printed: [
            "  powersync-swift/powersync.env", "Sync config, from config/sync_rules.yaml:",
            "  Bucket definitions were written as streams", "  prisma/migrations: 2 tables",
        ]
    )

    static let unified = Project(
        description: "start -r unified, keys of large installations",
        files: [
            "powersync.yaml": """
            replication:
              connections:
                - type: postgresql
                  id: default
                  tag: default
                  uri: !env PS_DATA_SOURCE_URI
                  debug_api: true
                  snapshot_socket_timeout: 60
            storage:
              type: postgresql
              uri: !env PS_STORAGE_URI
              batch_limits: {max_record_count: 2000}
              slot_name_prefix: ps_
            port: !env PS_PORT::number
            sync_rules:
              path: sync_rules.yaml
              exit_on_error: false
            client_auth: {jwks_uri: !env PS_JWKS_URL, audience: ["x"]}
            healthcheck: {probes: {use_filesystem: true, use_http: true}}
            metadata: {team: mobile}
            dev: {demo_auth: true}
            """,
            "sync_rules.yaml": streams, "infra/compose.yml": compose,
        ],
        service: [
            "  type: postgresql", "  exit_on_error: false", "port: !env PS_PORT::number", "    use_http: true",
            "  jwks_uri: !env PS_JWKS_URL",
        ],
        secrets: ["metadata", "debug_api", "batch_limits", "slot_name_prefix", "demo_auth", "use_filesystem"],
        sync: ["  lists:"],
        printed: [
            "Without effect here, and left out:", "  replication.connections[0].debug_api: ",
            "  replication.connections[0].snapshot_socket_timeout: ", "  storage.batch_limits: ",
            "  storage.slot_name_prefix: ", "  metadata: ", "  dev: ", "  healthcheck.probes.use_filesystem: ",
            "  PS_JWKS_URL", "  PS_PORT", "  PS_STORAGE_URI", "        - \"../powersync-swift:/config:ro\"",
        ]
    )

    static let inline = Project(
        description: "The sync config in the service configuration",
        files: [
            "deploy/service.yml": """
            replication: {connections: [{type: postgresql, uri: '${DATABASE_URL}'}]}
            storage: {type: mongodb, uri: x}
            sync_rules:
              content: |
                bucket_definitions:
                  everything:
                    data: [SELECT * FROM lists]
            client_auth: {jwks_uri: "https://id.example.com/keys", audience: [app]}
            """,
            "schema.sql": "CREATE TABLE lists (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);",
        ],
        service: ["      uri: !env PS_DATABASE_URL", "  path: sync.yaml"],
        sync: ["  everything:"],
        schema: "schema.sql",
        printed: [
            "  replication.connections[0].uri: PS_DATABASE_URL has to have what DATABASE_URL had", "  PS_DATABASE_URL",
        ]
    )

    static let mysql = Project(
        description: "MySQL, Drizzle",
        files: [
            "powersync/powersync.yaml": """
            replication:
              connections:
                - type: mysql
                  uri: !env PS_MYSQL_URI
                  server_id: 10
            storage: {type: mongodb, uri: !env PS_MONGO}
            sync_config: {path: ./sync-streams.yaml}
            client_auth: {jwks_uri: "https://id.example.com/keys", audience: [app]}
            """,
            "powersync/sync-streams.yaml": streams.replacing("owner_id", with: "user_id"),
            "drizzle/0000_first.sql": """
            CREATE TABLE `lists` (
            	`id` varchar(36) NOT NULL,
            	`name` varchar(255),
            	CONSTRAINT `lists_id` PRIMARY KEY(`id`)
            );
            --> statement-breakpoint
            CREATE TABLE `todos` (`id` varchar(36) NOT NULL);
            """,
            "drizzle/0001_second.sql": "ALTER TABLE `lists` ADD `user_id` int; CREATE TABLE `t` (`id` int);",
            "drizzle/meta/_journal.json": "{}",
        ],
        service: ["    - type: mysql", "      server_id: 10"],
        sync: ["    query: SELECT * FROM lists WHERE user_id = auth.user_id()"],
        schema: "drizzle",
        printed: ["  drizzle: 3 tables"]
    )

    static let files = Project(
        description: "Certificates beside the file, secrets in it",
        files: [
            "services/sync/config.yaml": """
            replication:
              connections:
                - type: postgresql
                  hostname: db.example.com
                  port: 5432
                  database: app
                  username: powersync
                  password: "hunter2"
                  cacert: certs/ca.pem
            storage:
              type: postgresql
              uri: postgresql://storage:hunter3@db.example.com/buckets
            api: {tokens: [an-admin-token, another-token]}
            sync_config: {path: sync.yaml}
            client_auth: {jwks_uri: "https://id.example.com/keys", audience: [app]}
            """,
            "services/sync/sync.yaml": streams, "services/sync/certs/ca.pem": "-----BEGIN CERTIFICATE-----",
        ],
        service: [
            "      password: !env PS_DATA_SOURCE_PASSWORD", "      cacert: \"../services/sync/certs/ca.pem\"",
            "  uri: !env PS_STORAGE_URI", "    - !env PS_ADMIN_TOKEN", "    - !env PS_ADMIN_TOKEN_2",
        ],
        secrets: ["hunter", "an-admin-token", "another-token"],
        sync: ["  lists:"]
    )

    private static let small = """
        replication: {connections: [{type: postgresql, uri: !env PS_URI}]}
        storage: {type: mongodb, uri: x}
        client_auth: {jwks_uri: "https://id.example.com/keys", audience: [app]}
        api: {tokens: [!env PS_ADMIN]}
        """

    static let several = Project(
        description: "One for each environment, the sync config is deployed through the API",
        files: ["env/dev/service.yaml": small, "env/prod/service.yaml": small],
        named: "env/prod/service.yaml",
        service: ["# Taken over from env/prod/service.yaml by powersync import. Paths are relative to this file."],
        printed: ["  none was found; write powersync-swift/sync.yaml"]
    )

    static let hosted = Project(
        description: "A file of the hosted service",
        files: [
            "powersync/service.yaml": """
            _type: cloud
            replication: {connections: [{type: postgresql, password: {secret_ref: default}}]}
            """
        ],
        refusal: "a file of the hosted service"
    )

    static let mongo = Project(
        description: "MongoDB as the source",
        files: [
            "service.yaml":
                "replication: {connections: [{type: mongodb, uri: !env PS_URI}]}\nstorage: {type: mongodb}\n"
        ],
        refusal: "a source of the type mongodb cannot be replicated"
    )

    static let byHand = Project(
        description: "Keys that mean something else, and definitions that no stream can replace",
        files: [
            "service.yaml": """
            hots: 0.0.0.0
            log_level: debug
            replication: {connections: [{type: postgresql, uri: !env PS_URI, schema: app}]}
            storage: {type: mongodb, uri: x}
            sync_rules: {path: sync_rules.yaml}
            client_auth:
              jwks_uri: https://id.example.com/keys
              audience: one
              additional_audiences: [two]
              issuer: https://id.example.com
              allow_local_jwks: false
              allow_temporary_tokens: true
            api: {token: !env PS_ADMIN}
            """,
            "sync_rules.yaml": """
            bucket_definitions:
              mine:
                parameters: SELECT id AS list FROM lists WHERE owner = request.user_id()
                data: [SELECT * FROM todos WHERE list_id = bucket.list]
            """,
        ],
        service: [
            "    level: debug", "    - !env PS_ADMIN", "  block_local_jwks: true", "    - one", "    - two",
        ],
        secrets: ["hots", "issuer", "temporary", "additional", "schema: app"],
        sync: ["  mine:"],
        printed: [
            "  hots is left out: no service has such a key", "  log_level is system.logging.level",
            "  api.token is api.tokens, a list", "  client_auth.issuer is left out",
            "  replication.connections[0].schema is left out: ",
        ]
    )
}
