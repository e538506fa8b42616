import PowerSyncProtocol

/// What stays the same while a process of the service runs.
struct ServiceFacts: Codable, Sendable, Equatable {
    /// The version of the service.
    var version: String
    /// `unified`, `api` or `sync`.
    var role: String
    /// When the process began, in seconds since 1970.
    var startedAt: Double
    /// The limits, by their names in the configuration.
    var limits: [String: Int]

    /// Describes a process.
    init(_ configuration: ServiceConfiguration, startedAt: Double) {
        version = PackageVersion.current
        role = configuration.role.description
        self.startedAt = startedAt
        let limits = configuration.limits
        self.limits = [
            "max_concurrent_connections": limits.maxConcurrentConnections,
            "max_streams_per_user": limits.maxStreamsPerUser,
            "max_data_fetch_concurrency": limits.maxDataFetchConcurrency,
            "max_read_ahead_bytes": limits.maxReadAheadBytes,
            "max_buckets_per_connection": limits.maxBucketsPerConnection,
            "max_parameter_query_results": limits.maxParameterQueryResults,
        ]
    }
}
