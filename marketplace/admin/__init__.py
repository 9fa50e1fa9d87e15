"""The admin site of what is owned, traded and owed: a filing cabinet, one drawer a table."""

from django.contrib import admin

from marketplace.admin import firms, goods, trade, transfers

__all__ = ["firms", "goods", "trade", "transfers"]

admin.site.site_header = "CoffeeBench"
admin.site.site_title = "CoffeeBench"
