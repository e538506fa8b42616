import PowerSyncService

/// A real nginx before a service, which keeps its connections to the service and uses them again for whatever comes next.
package enum NginxProxy {
    /// What a location needs for everything to pass.
    package static let location = [
        "proxy_pass http://service;", "proxy_http_version 1.1;", "proxy_set_header Upgrade $http_upgrade;",
        "proxy_set_header Connection $upgraded;", "proxy_next_upstream off;",
    ]

    /// Runs a proxy for the duration of `body`.
    ///
    /// - Parameters:
    ///   - scenario: The service.
    ///   - location: The directives for all paths.
    ///   - body: Gets the same service, at the address of the proxy.
    /// - Throws: ``ProxyProcess/Missing``, ``ProxyProcess/NotStarted``, or what `body` throws.
    package static func run(
        to scenario: ServiceScenario,
        location: [String] = location,
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        try await run(to: scenario, isEncrypted: false) { port in
            """
            upstream service { server 127.0.0.1:\(scenario.address.port); keepalive 1; }
            map $http_upgrade $upgraded { default upgrade; '' ''; }
            server {
                listen 127.0.0.1:\(port);
                location / {
                    \(location.joined(separator: "\n"))
                }
            }
            """
        } _: { proxy in
            try await body(proxy)
        }
    }

    /// Runs a proxy with servers of its own for the duration of `body`.
    ///
    /// - Parameters:
    ///   - scenario: The service.
    ///   - isEncrypted: Whether the proxy speaks TLS.
    ///   - servers: Makes what is within `http`, for a port.
    ///   - body: Gets the same service, at the address of the proxy.
    /// - Throws: ``ProxyProcess/Missing``, ``ProxyProcess/NotStarted``, or what `body` throws.
    package static func run(
        to scenario: ServiceScenario,
        isEncrypted: Bool,
        servers: (_ port: Int) throws -> String,
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        let nginx = ProxyProcess(
            program: try ProxyProcess.program("nginx"),
            arguments: { file, folder in ["-p", folder, "-c", file] },
            // It says so when it listens.
            readyText: "event method",
            isEncrypted: isEncrypted
        )
        try await nginx.run(to: scenario) { port, folder in
            configuration(try servers(port), folder: folder)
        } _: { proxy in
            try await body(proxy)
        }
    }

    /// One process without a daemon or workers, which ends with the test and needs no rights.
    private static func configuration(_ servers: String, folder: String) -> String {
        """
        daemon off;
        master_process off;
        pid \(folder)/nginx.pid;
        error_log stderr notice;
        events { worker_connections 256; }
        http {
            access_log off;
            client_body_temp_path \(folder)/body;
            proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            \(servers)
        }
        """
    }
}
