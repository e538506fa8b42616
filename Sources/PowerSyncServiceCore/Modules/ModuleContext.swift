package import Logging

/// What a module needs of the service to open its database.
package struct ModuleContext: Sendable {
    /// The schema of tables that a sync config names without one: that of the source, also for the storage.
    package var defaultSchema: String
    /// What the handles of streams begin with (``SourceModule/handlePrefix``).
    package var handlePrefix: String
    /// Gets warnings.
    package var logger: Logger

    /// Creates a context.
    package init(defaultSchema: String, handlePrefix: String, logger: Logger) {
        self.defaultSchema = defaultSchema
        self.handlePrefix = handlePrefix
        self.logger = logger
    }
}
