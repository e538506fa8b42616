/// Several servers in one connection string: `host=a,b port=5432,5433`.
extension PostgresConnectionString {
    /// Parameters that choose each of the servers, in their order; stronger than the string.
    ///
    /// libpq tries one after the other itself, but waits for each as long as it is told to wait for all of them: behind one that
    /// does not answer, the others are never asked.
    var hosts: [[(name: String, value: String)]] {
        let keywords = keywords ?? []
        func values(_ name: String) -> [String] {
            guard let text = keywords.last(where: { $0.name == name })?.value else { return [] }
            return text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        }
        let (names, addresses, ports) = (values("host"), values("hostaddr"), values("port"))
        let count = max(names.count, addresses.count)
        // Lists that do not fit together, libpq refuses with a message; with a random order, it has to see all.
        let fits =
            [names.count, addresses.count].allSatisfy { [0, count].contains($0) }
            && [0, 1, count].contains(ports.count)
        guard count > 1, fits, !keywords.contains(where: { $0.name == "load_balance_hosts" }) else { return [[]] }
        return (0..<count).map { index in
            var parameters: [(name: String, value: String)] = []
            if !names.isEmpty { parameters.append((name: "host", value: names[index])) }
            if !addresses.isEmpty { parameters.append((name: "hostaddr", value: addresses[index])) }
            if ports.count > 1 { parameters.append((name: "port", value: ports[index])) }
            return parameters
        }
    }

    /// What the server has to be, if the string names several and does not say it: one that takes writes.
    ///
    /// libpq would take the first one that answers. Of a standby, rows may be old, and it refuses whatever is written.
    var wantedSession: (name: String, value: String)? {
        let keywords = keywords ?? []
        let isList = keywords.contains { ["host", "hostaddr"].contains($0.name) && $0.value.contains(",") }
        guard isList, !keywords.contains(where: { $0.name == "target_session_attrs" }) else { return nil }
        return (name: "target_session_attrs", value: "read-write")
    }
}
