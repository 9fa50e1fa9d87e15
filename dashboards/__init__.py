"""What people see: pages, figures and sockets."""
