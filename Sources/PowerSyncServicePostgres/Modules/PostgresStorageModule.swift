public import PowerSyncServiceCore

/// The storage in a schema of a PostgreSQL database: ``PostgresBucketStorage``.
package struct PostgresStorageModule: StorageModule {
    /// Where the database is.
    package let settings: PostgresSettings
    /// The schema.
    package let schema: String

    /// Creates a module of a schema, which need not be there.
    package init(_ settings: PostgresSettings, schema: String) {
        var settings = settings
        settings.key = "storage"
        self.settings = settings
        self.schema = schema
    }

    package static let type = "postgresql"
    package static let example = "{type: postgresql, uri: !env PS_STORAGE_URI}"
    package static let starter: [String]? = nil
    package static let schemaKeys: [SchemaObject.Key] =
        PostgresSettings.schemaKeys + [
            .init("schema", "The schema of the tables; powersync_storage by default.", .text)
        ]
    package static let sharing = ModuleSharing.anyNumber

    package var description: String { "\(settings), schema \(schema)" }
    package var files: [DatabaseFile] { [] }
    package var secrets: [String] { settings.secrets }

    package var maintenance: any StorageMaintenance {
        PostgresStorageMaintenance(schema: schema, place: description) { [settings] in
            try settings.connectionString()
        }
    }

    package init?(_ section: inout YAMLSection) {
        guard let (settings, schema) = PostgresSettings.storage(&section) else { return nil }
        self.init(settings, schema: schema)
    }

    // MARK: Opening

    package func open(_ use: StorageUse, _ context: ModuleContext) async throws -> any BucketStorage {
        guard PostgresSettings.isSchemaName(schema) else {
            throw ServiceError(.invalidConfiguration, "“\(schema)” is not possible", key: "storage.schema")
        }
        var storage = PostgresBucketStorage.Settings(connection: try settings.connectionString())
        storage.schema = schema
        storage.maximumConnections = settings.maximumPoolSize
        storage.handlePrefix = context.handlePrefix
        storage.defaultTableSchema = context.defaultSchema
        do {
            return try await PostgresBucketStorage.open(
                storage,
                use: use == .service(migrates: true) ? .service : .maintenance,
                logger: context.logger
            )
        } catch {
            throw self.error(error, while: .starting)
        }
    }

    /// Nothing: the storage lies in a database that is there.
    package func checkPlace() throws {}

    /// Nothing: the storage lies in a database that is there.
    package func preparePlace() throws {}

    package func error(_ error: any Error, while activity: StorageActivity) -> any Error {
        switch error {
        case let error as BucketStorageError:
            return ServiceError(
                .storage,
                error.message,
                key: "storage",
                underlyingError: activity == .starting ? error.underlyingError : nil,
                catalogueCode: error.catalogueCode
            )
        case let error as PostgresError:
            let remedy = PostgresCheck.remedy(for: error).map { " \($0)" } ?? ""
            return ServiceError(
                .storage,
                "the bucket storage, \(settings), cannot be used.\(remedy)",
                key: "storage",
                underlyingError: error
            )
        default:
            return error
        }
    }
}

extension StorageConfiguration {
    /// A schema of a PostgreSQL database, for any number of processes of the service.
    ///
    /// - Parameters:
    ///   - settings: Where the database is, and how many connections there are for reading. The publication and the other
    ///     settings of a source have no effect.
    ///   - schema: The name of the schema: lower case letters, digits and `_`. It is created when missing.
    /// - Returns: The storage.
    public static func postgresql(
        _ settings: PostgresSettings,
        schema: String = "powersync_storage"
    ) -> StorageConfiguration {
        StorageConfiguration(PostgresStorageModule(settings, schema: schema))
    }
}
