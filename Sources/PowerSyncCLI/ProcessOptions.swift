import ArgumentParser
import PowerSyncService

/// `--role`: what a process of a service does (docs/postgres-storage.md "Several processes").
struct ProcessOptions: ParsableArguments {
    @Option(
        name: [.customLong("role"), .customShort("r")],
        help: """
            What this process does: "unified" replicates and serves clients, "api" serves clients, "sync" replicates. Several \
            processes share a storage that is a server; one of those that may replicate does.
            """,
        transform: { name in
            guard let role = ServiceConfiguration.Role(name) else {
                throw ValidationError("\"\(name)\" is not one of unified, api, sync")
            }
            return role
        }
    )
    var role: ServiceConfiguration.Role = .unified
}
