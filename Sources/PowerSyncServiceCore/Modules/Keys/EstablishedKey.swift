/// A key of the established service's configuration files that this service does not use, as of autumn 2026.
///
/// The only place that knows them. Keys that both services use are read where they are needed.
package struct EstablishedKey: Sendable {
    /// What becomes of a key.
    package enum Treatment: Sendable, Hashable {
        /// It is said in one line why it does nothing here; with the value `unless`, which is what happens anyway, nothing is said.
        case noEffect(String, unless: String? = nil)
        /// The file cannot be used; says what to write instead.
        case refused(String)
    }

    /// The path of the mapping that has the key, with `[]` for an entry of a list: `replication.connections[]`; empty at the top.
    package let section: String
    /// The key.
    package let name: String
    /// What becomes of it.
    package let treatment: Treatment

    /// What becomes of a key.
    ///
    /// - Parameters:
    ///   - name: The key.
    ///   - path: The path of the mapping that has it, such as `replication.connections[0]`.
    /// - Returns: `nil` when it is none of these.
    package static func treatment(of name: String, in path: String) -> Treatment? {
        let section = path.replacing(/\[\d+\]/, with: "[]")
        return all.first { $0.section == section && $0.name == name }?.treatment
    }

    private static func keys(_ section: String, _ entries: KeyValuePairs<String, Treatment>) -> [EstablishedKey] {
        entries.map { EstablishedKey(section: section, name: $0.key, treatment: $0.value) }
    }

    /// All of them.
    package static let all: [EstablishedKey] =
        keys(
            "",
            [
                "metadata": .noEffect("nothing reads it"), "parameters": .noEffect("no template is filled in"),
                "dev": .noEffect("endpoints for development are below \"development\""),
                "name": .noEffect("a service has no name"), "region": .noEffect("a service has no region"),
                "log_level": .refused("not a key here; write system: {logging: {level: info}}"),
            ]
        )
        + keys(
            "replication.connections[]",
            [
                "debug_api": .noEffect("the admin API answers whoever has one of api.tokens"),
                "snapshot_socket_timeout": .noEffect("a copy waits as long as the server works"),
                "name": .noEffect("a connection has no name"),
                "additionalConfig": .noEffect("it is for another kind of database"),
                "schema": .refused(
                    "not a key here; write the schema in the queries of the sync config: SELECT * FROM my_schema.lists"
                ),
            ]
        )
        + keys(
            "storage",
            [
                "id": .noEffect("there is one storage"), "tag": .noEffect("there is one storage"),
                "default_storage_version": .noEffect("the storage has one format, of this service"),
                "batch_limits": .noEffect("writes have fixed limits"),
                "slot_name_prefix": .noEffect("a storage has no replication slot; the one of the source counts"),
                "reject_ip_ranges": .noEffect("a file has no address"),
                "debug_api": .noEffect("the admin API answers whoever has one of api.tokens"),
                "clear_batch_throttle_rate": .noEffect("data is removed in small steps, with pauses"),
                "bulk_read_preference": .noEffect("the storage is read where it is written"),
                "object_storage": .noEffect("everything is in the storage itself"),
                "chunk_compaction_concurrency": .noEffect("one compaction runs at a time"),
            ]
        )
        + keys(
            "telemetry",
            [
                "internal_service_endpoint": .noEffect("nothing is ever sent"),
                "disable_telemetry_sharing": .noEffect("nothing is ever sent"),
                "enable_client_logging": .noEffect("nothing is ever sent; the log says who connects"),
            ]
        )
        + keys(
            "healthcheck.probes",
            [
                "use_filesystem": .noEffect(
                    "there are no files of probes; ask /probes/liveness and /probes/readiness",
                    unless: "false"
                )
            ]
        )
        + keys("api", ["token": .refused("not a key here; write tokens, a list: tokens: [!env PS_ADMIN_TOKEN]")])
        + keys(
            "api.parameters",
            [
                "bucket_count_cache_ttl_minutes": .noEffect("there is no such cache"),
                "checkpoint_request_retention_minutes": .noEffect("it is always 60", unless: "60"),
            ]
        )
        + keys(
            "client_auth",
            [
                "issuer": .refused(
                    """
                    not checked here, so that tokens of every issuer with these keys would be let in; leave it out, and tell services \
                    apart by audience: [name]
                    """
                ),
                "additional_audiences": .refused("not a key here; write them into the list audience: [one, another]"),
                "allow_temporary_tokens": .refused(
                    "not possible here; leave it out, and sign tokens with powersync token, for the list audience"
                ),
                "allow_local_jwks": .refused(
                    "not a key here; local key sets are allowed unless you write block_local_jwks: true"
                ),
            ]
        )
        + keys(
            "client_auth.jwks.keys[]",
            [
                "ext": .noEffect("it is for browsers"), "x5c": .noEffect("certificates of keys are not read"),
                "x5t": .noEffect("certificates of keys are not read"),
                "x5t#S256": .noEffect("certificates of keys are not read"),
                "x5u": .noEffect("certificates of keys are not read"),
                "d": .noEffect(Self.privateHalf), "p": .noEffect(Self.privateHalf), "q": .noEffect(Self.privateHalf),
                "dp": .noEffect(Self.privateHalf), "dq": .noEffect(Self.privateHalf), "qi": .noEffect(Self.privateHalf),
                "oth": .noEffect(Self.privateHalf),
            ]
        )

    private static let privateHalf = "a part of the private key, which only signs; leave it out"
}
