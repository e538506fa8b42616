public import Foundation

/// How a database connects.
///
/// Times without a unit in their type are in seconds.
public struct ConnectOptions: Sendable {
    /// The default of ``crudThrottle``: 1 s.
    public static let DefaultCrudThrottle: TimeInterval = 1
    /// The default of ``retryDelay``: 5 s.
    public static let DefaultRetryDelay: TimeInterval = 5

    /// The least time between the starts of two upload passes, in seconds.
    public var crudThrottle: TimeInterval
    /// The time before a failed connection or upload is tried again, in seconds.
    ///
    /// Varied by ±10 %.
    public var retryDelay: TimeInterval
    /// Parameters that the sync config can read.
    public var params: JsonParam
    /// Key-value pairs for the log of the service.
    public var appMetadata: [String: String]
    /// Has no effect.
    @available(*, deprecated, message: "There is one client implementation. Remove the argument.")
    public var newClientImplementation: Bool {
        get { true }
        set { _ = newValue }
    }
    /// Settings of the network client.
    public var clientConfiguration: SyncClientConfiguration?
    /// Whether streams with `auto_subscribe: true` are synced without a subscription.
    public var includeDefaultStreams: Bool
    /// How the client learns that the service has seen uploaded writes.
    public var checkpointMode: CheckpointMode
    /// What becomes of local writes that the backend will never accept.
    public var uploadRejectionPolicy: UploadRejectionPolicy
    /// Which halves of syncing the connection does: both by default.
    public var mode: ConnectionMode = .full
    /// How long ``PowerSyncBackendConnectorProtocol/fetchCredentials()`` and
    /// ``CustomCheckpointRequestConnector/postCheckpointRequest(_:clientId:)`` may take: 60 s by default.
    ///
    /// After that the call is cancelled and has failed with an ``OverdueCallError``, and is tried again like after any other error,
    /// also while the first call has not returned. What a call returns after its limit is ignored. A limit that
    /// passes while the app is suspended begins anew.
    ///
    /// ```swift
    /// var options = ConnectOptions()
    /// options.answerLimit = .seconds(20)
    /// ```
    public var answerLimit: Duration = .seconds(60)
    /// How long ``PowerSyncBackendConnectorProtocol/uploadData(database:)`` may go on without progress: 10 minutes by default.
    ///
    /// Progress is an access to the database from inside the call, by its task or one that it has started. A request of
    /// ``HTTPBackendConnector`` counts until it has ended. After the limit the call is cancelled; the status shows an
    /// ``OverdueCallError`` and ``SyncWait/Reason/overdueCall(_:)``. Uploads go on when the call has returned, and not before;
    /// everything else goes on meanwhile.
    public var uploadLimit: Duration = .seconds(600)

    /// Creates options.
    ///
    /// - Parameters:
    ///   - crudThrottle: The least time between the starts of two upload passes, in seconds.
    ///   - retryDelay: The time before a failed connection or upload is tried again, in seconds.
    ///   - params: Parameters that the sync config can read.
    ///   - clientConfiguration: Settings of the network client.
    ///   - appMetadata: Key-value pairs for the log of the service.
    ///   - includeDefaultStreams: Whether streams with `auto_subscribe: true` are synced without a subscription.
    ///   - checkpointMode: How the client learns that the service has seen uploaded writes.
    ///   - uploadRejectionPolicy: What becomes of local writes that the backend will never accept.
    public init(
        crudThrottle: TimeInterval = 1,
        retryDelay: TimeInterval = 5,
        params: JsonParam = [:],
        clientConfiguration: SyncClientConfiguration? = nil,
        appMetadata: [String: String] = [:],
        includeDefaultStreams: Bool = true,
        checkpointMode: CheckpointMode = .legacy,
        uploadRejectionPolicy: UploadRejectionPolicy = .retry
    ) {
        self.crudThrottle = crudThrottle
        self.retryDelay = retryDelay
        self.params = params
        self.clientConfiguration = clientConfiguration
        self.appMetadata = appMetadata
        self.includeDefaultStreams = includeDefaultStreams
        self.checkpointMode = checkpointMode
        self.uploadRejectionPolicy = uploadRejectionPolicy
    }

    /// Creates options for a connection that may do one half of syncing only, with the defaults of all others.
    ///
    /// ```swift
    /// try await database.connect(connector: connector, options: ConnectOptions(mode: .uploadOnly))
    /// ```
    ///
    /// - Parameter mode: Which halves of syncing the connection does.
    public init(mode: ConnectionMode) {
        self.init()
        self.mode = mode
    }

    /// Creates options; `newClientImplementation` is ignored.
    ///
    /// - Parameters:
    ///   - crudThrottle: The least time between the starts of two upload passes, in seconds.
    ///   - retryDelay: The time before a failed connection or upload is tried again, in seconds.
    ///   - params: Parameters that the sync config can read.
    ///   - newClientImplementation: Ignored.
    ///   - clientConfiguration: Settings of the network client.
    ///   - appMetadata: Key-value pairs for the log of the service.
    ///   - includeDefaultStreams: Whether streams with `auto_subscribe: true` are synced without a subscription.
    ///   - checkpointMode: How the client learns that the service has seen uploaded writes.
    ///   - uploadRejectionPolicy: What becomes of local writes that the backend will never accept.
    @available(*, deprecated, message: "Remove newClientImplementation; there is one client implementation.")
    public init(
        crudThrottle: TimeInterval = 1,
        retryDelay: TimeInterval = 5,
        params: JsonParam = [:],
        newClientImplementation: Bool = true,
        clientConfiguration: SyncClientConfiguration? = nil,
        appMetadata: [String: String] = [:],
        includeDefaultStreams: Bool = true,
        checkpointMode: CheckpointMode = .legacy,
        uploadRejectionPolicy: UploadRejectionPolicy = .retry
    ) {
        self.init(
            crudThrottle: crudThrottle,
            retryDelay: retryDelay,
            params: params,
            clientConfiguration: clientConfiguration,
            appMetadata: appMetadata,
            includeDefaultStreams: includeDefaultStreams,
            checkpointMode: checkpointMode,
            uploadRejectionPolicy: uploadRejectionPolicy
        )
    }
}

extension ConnectOptions {
    /// ``crudThrottle`` as a duration.
    var uploadInterval: Duration { Duration(clampingSeconds: crudThrottle) }

    /// ``retryDelay`` as a duration.
    var retryInterval: Duration { Duration(clampingSeconds: retryDelay) }

    /// How long a call may take that is waited for because of its answer.
    var limitOfAnswers: AppCallLimit { AppCallLimit(answerLimit, option: "ConnectOptions.answerLimit") }

    /// How long an upload may go on without progress.
    var limitOfUploads: AppCallLimit { AppCallLimit(uploadLimit, option: "ConnectOptions.uploadLimit") }

    /// How sync lines travel.
    var transport: SyncTransportMethod { clientConfiguration?.transport ?? .http }
}
