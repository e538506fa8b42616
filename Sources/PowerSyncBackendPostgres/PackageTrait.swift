#if !Service
#error("This needs the package trait \"Service\": docs/packages.md")
#endif
