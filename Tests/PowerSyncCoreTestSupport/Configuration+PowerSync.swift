package import GRDB
import PowerSyncCore

extension Configuration {
    /// The configuration with our functions and pragmas.
    package func forPowerSync() -> Configuration {
        var configuration = self
        configuration.prepareDatabase { db in
            // As on connections of the SDK; foreign keys stay what GRDB makes them.
            try db.execute(sql: "PRAGMA recursive_triggers = OFF")
        }
        ConnectionSetUp.apply(to: &configuration)
        return configuration
    }
}
