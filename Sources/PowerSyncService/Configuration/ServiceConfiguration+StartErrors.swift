import Foundation
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth

/// The errors that keep a service from starting, in words for an operator.
extension ServiceConfiguration {
    /// The error for the operator.
    package func startError(_ error: any Error) -> any Error {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            ServiceError(
                .portInUse,
                "port \(port) is in use; stop the other process or choose another port",
                key: "port",
                underlyingError: error
            )
        case let error as IOError where error.errnoCode == EACCES:
            ServiceError(
                .invalidConfiguration,
                """
                this process may not listen on port \(port); choose one above 1023, or allow it: setcap cap_net_bind_service=+ep, \
                AmbientCapabilities=CAP_NET_BIND_SERVICE in a unit of systemd
                """,
                key: "port"
            )
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL: hostError
        case is SocketAddressError: hostError
        case let error as ReplicationSourceError where error.code == .configuration:
            ServiceError(
                source.module.configurationErrorCode,
                error.message,
                key: "replication.connections[0]",
                catalogueCode: error.catalogueCode
            )
        case let error as BucketStorageError:
            ServiceError(.storage, error.message, underlyingError: error, catalogueCode: error.catalogueCode)
        case let error as ReplicationSourceError:
            ServiceError(.storage, error.message, underlyingError: error, catalogueCode: error.catalogueCode)
        default:
            error
        }
    }

    private var hostError: ServiceError {
        ServiceError(
            .invalidConfiguration,
            "\"\(host)\" is not an address of this machine, or a name of one; write 0.0.0.0 for all interfaces, or 127.0.0.1",
            key: "host"
        )
    }
}

extension ClientAuthentication {
    /// Checks the configured keys, and where others come from.
    ///
    /// - Throws: ``ServiceError`` that names the key.
    package func checkKeys() async throws(ServiceError) {
        try checkKeySources()
        for key in keys.map(\.key) {
            do {
                try await key.checkMaterial()
            } catch {
                throw ServiceError(
                    .invalidConfiguration,
                    error.message,
                    key: "client_auth.jwks.keys (kid \(key.id ?? "none"))"
                )
            }
        }
    }
}
