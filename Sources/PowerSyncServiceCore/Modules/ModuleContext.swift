package import Logging

/// What a module needs of the service to open its database.
package struct ModuleContext: Sendable {
    /// The schema of tables that a sync config names without one: that of the source, also for the storage.
    package var defaultSchema: String
    /// The beginning of the names that streams have in the source.
    package var slotPrefix: String
    /// Gets warnings.
    package var logger: Logger

    /// Creates a context.
    package init(defaultSchema: String, slotPrefix: String, logger: Logger) {
        self.defaultSchema = defaultSchema
        self.slotPrefix = slotPrefix
        self.logger = logger
    }
}
